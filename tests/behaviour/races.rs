//! Things that happen at the same instant: each is counted once, and the model is asked once about all
//! of them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::World;
use entourage_tests::{first_tools, one_kind, well_formed};
use entourage_tools::{Caller, Context, Effect, Outcome, Tool, Toolbox};
use entourage_types::{Agent, Answer, EventBody, ItemBody, QuestionStatus, Status, ToolSpec};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::chat::{is_orchestrator, main_chat, told};

/// How many rounds of tools there are in all, an eighth of them with each number from 1 to 8; of
/// answers, a fifth of that.
const ROUNDS: usize = 1_000;

/// A model that asks for so many calls of a tool, and then has done with it.
fn calls(tool: &'static str, arguments: Value) -> ScriptedModel {
    ScriptedModel::deciding(move |request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(count)) => {
                let count = count.parse().unwrap_or(1);
                (0..count).fold(Script::text(""), |script, _| script.and_call(tool, arguments.clone()))
            }
            _ => Script::text("Done."),
        }))
    })
}

/// A run of two model calls, with an output for each call before the second one.
async fn asked_once_about_all(world: &World, root: &Agent, count: usize) {
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    well_formed(&items).unwrap();
    let outputs = items.iter().filter(|item| matches!(item.body, ItemBody::Output(_))).count();
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    assert_eq!((outputs, runs.len(), runs[0].model_calls), (count, 1, 2), "{items:?}");
}

/// A tool that returns when all calls of its turn do.
struct Meet(Vec<Arc<Barrier>>);

#[async_trait]
impl Tool for Meet {
    fn name(&self) -> &str {
        "meet"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        Some(ToolSpec { name: "meet".into(), description: "Meets the others.".into(), parameters })
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, arguments: Value) -> entourage_tools::Result<Outcome> {
        let count = usize::try_from(arguments["n"].as_u64().unwrap_or(1)).unwrap_or(1);
        self.0[count - 1].wait().await;
        Ok(Outcome::text("met"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_that_finish_at_the_same_instant_are_one_model_call() {
    for count in 1..=8 {
        let meet = Meet((1..=8).map(|n| Arc::new(Barrier::new(n))).collect());
        let model = calls("meet", json!({ "n": count }));
        let kinds = one_kind(|kind| kind.limits.max_same_tool = 100);
        let world = World::builder(model).tools(Toolbox::new().with(meet)).kinds(kinds).start().await;
        for _ in 0..ROUNDS / 8 {
            let root = world.ask(&count.to_string()).await;
            asked_once_about_all(&world, &root, count).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_come_at_the_same_instant_are_one_model_call() {
    let model = calls("ask_user", json!({"question": "Which?"}));
    let kinds = one_kind(|kind| kind.limits.max_same_tool = 100);
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
    for round in 0..ROUNDS / 5 {
        let count = round % 8 + 1;
        let root = world.ask(&count.to_string()).await;
        let client = world.client();
        let open = || client.questions(Some(root.id), Some(QuestionStatus::Open), Page::default());
        let mut watch = world.client().watch(root.id, 0).await.unwrap();
        while open().await.unwrap().len() < count {
            watch.next().await.unwrap();
        }
        // Each from a house of its own, as from processes that know nothing of each other.
        let answers = open().await.unwrap().into_iter().map(|question| {
            let client = world.client();
            tokio::spawn(async move { client.answer(question.id, Answer::Text("this".into())).await })
        });
        assert!(join_all(answers).await.into_iter().all(|answered| answered.unwrap().is_ok()));
        asked_once_about_all(&world, &root, count).await;
        assert_eq!(model.requests().len(), 2 * (round + 1));
    }
    assert_eq!(world.audit().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_to_a_chat_at_the_same_instant_are_a_decision_each() {
    let model =
        ScriptedModel::deciding(|request: &Request| Some(Ok(Script::text(format!("re: {}", told(request))))));
    let world = World::scripted(&model, first_tools()).await;
    for round in 0..50 {
        let chat = world.ask_kind(Some("orchestrator"), "0").await;
        let count = round % 8 + 1;
        let sends = (1..=count).map(|n| {
            let client = world.client();
            tokio::spawn(async move { client.send(chat.id, &n.to_string(), None).await.unwrap() })
        });
        join_all(sends).await;
        let answers = AtomicUsize::new(0);
        world
            .until(chat.id, |event| {
                let answered = matches!(&event.body, EventBody::Item { item: Some(item), .. }
                    if matches!(&item.body, ItemBody::Turn(turn) if turn.calls.is_empty()));
                answered && answers.fetch_add(1, Ordering::SeqCst) == count
            })
            .await;
        let said: Vec<String> = main_chat(&world, chat.id).await.into_iter().map(|(_, text)| text).collect();
        for (asked, answered) in said.chunks(2).map(|pair| (&pair[0], &pair[1])) {
            assert_eq!(*answered, format!("re: {asked}"));
        }
        assert_eq!(said.len(), 2 * (count + 1));
    }
    let decided = model.requests().iter().filter(|request| is_orchestrator(request)).count();
    assert_eq!(decided, (0..50).map(|round| round % 8 + 2).sum::<usize>(), "one call for each message");
    assert_eq!(world.audit().await, []);
}
