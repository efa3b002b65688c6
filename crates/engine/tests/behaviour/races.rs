//! Events at the same instant: each is counted once, and the model is asked once about all of them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::kit::{WorldExt, first_tools, one_kind, within};
use async_trait::async_trait;
use entourage_engine::Signal;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{World, WorldBuilder, plain};
use entourage_tools::{Caller, Context, Effect, Outcome, Tool, Toolbox};
use entourage_types::{Agent, EventBody, ItemBody, Status, ToolSpec};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use crate::chat::{is_orchestrator, main_chat, told};

/// How many rounds there are in all, an eighth of them with each number from 1 to 8.
const ROUNDS: usize = 1_000;

/// A model that requests this many calls of a tool, and then ends.
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
async fn assert_one_model_call_about_all(world: &World, root: &Agent, count: usize) {
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    let outputs = plain(&items).iter().filter(|line| line.starts_with("output")).count();
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    assert_eq!((outputs, runs.len(), runs[0].model_calls), (count, 1, 2), "{items:?}");
}

/// A tool that returns when all calls of its turn do.
struct Meet(Arc<Barrier>);

#[async_trait]
impl Tool for Meet {
    fn name(&self) -> &str {
        "meet"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object"});
        Some(ToolSpec::new("meet", "Meets the others.", parameters))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> entourage_tools::Result<Outcome> {
        self.0.wait().await;
        Ok(Outcome::text("met"))
    }
}

/// Rounds with each number from 1 to 8: most of them in memory, a fifth on a database file.
async fn with_each_number<F: Future<Output = ()> + Send + 'static>(
    rounds: impl Fn(usize, usize, fn(WorldBuilder) -> WorldBuilder) -> F,
) {
    let in_memory =
        (1..=8).map(|count| rounds(count, ROUNDS / 10, |builder| builder.store(MemoryStore::default())));
    let on_file = (1..=8).map(|count| rounds(count, ROUNDS / 40, |builder| builder));
    for lane in join_all(in_memory.chain(on_file).map(tokio::spawn)).await {
        lane.unwrap();
    }
}

/// Shows: S1-R032, S1-R057.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_that_finish_at_the_same_instant_lead_to_one_model_call() {
    with_each_number(|count, rounds, stored| async move {
        let meet = Meet(Arc::new(Barrier::new(count)));
        let kinds = one_kind(|kind| kind.limits.max_same_tool = 100);
        let world = World::builder(calls("meet", json!({}))).tools(Toolbox::new().with(meet)).kinds(kinds);
        let world = stored(world).start().await;
        for _ in 0..rounds {
            let root = world.ask(&count.to_string()).await;
            assert_one_model_call_about_all(&world, &root, count).await;
        }
    })
    .await;
}

/// Serves the world over HTTP; returns a client that opens a connection for each request, and the
/// URL.
async fn serve_http(world: &World) -> (reqwest::Client, String) {
    entourage_llm::install_tls();
    let settings = entourage_server::Settings::default();
    let routes =
        entourage_server::router(world.engine().clone(), &settings, CancellationToken::new()).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap(), url)
}

/// Shows: S1-R032.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_given_at_the_same_instant_lead_to_one_model_call() {
    with_each_number(|count, rounds, stored| async move {
        let model = calls("ask_user", json!({"question": "Which?"}));
        let kinds = one_kind(|kind| kind.limits.max_same_tool = 100);
        let world = stored(World::builder(model.clone()).tools(first_tools()).kinds(kinds)).start().await;
        let (http, url) = serve_http(&world).await;
        for _ in 0..rounds {
            let root = world.ask(&count.to_string()).await;
            let mut watch = world.client().watch(root.id, 0).await.unwrap();
            let mut open = Vec::new();
            within("every question is open", async {
                while open.len() < count {
                    if let Signal::Event(event) = watch.next().await.unwrap()
                        && let EventBody::Question { question } = &event.body
                    {
                        open.push(question.id);
                    }
                }
            })
            .await;
            let answers = open.into_iter().map(|question| {
                let url = format!("{url}/v1/questions/{question}/answer");
                tokio::spawn(http.post(url).json(&json!({"answer": "this"})).send())
            });
            for answered in join_all(answers).await {
                answered.unwrap().unwrap().error_for_status().unwrap();
            }
            assert_one_model_call_about_all(&world, &root, count).await;
        }
        assert_eq!(model.requests().len(), rounds * 2);
        assert_eq!(world.audit().await, []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chat_messages_sent_at_the_same_instant_get_one_decision_each() {
    decisions(50, |builder| builder).await;
    decisions(ROUNDS / 5, |builder| builder.store(MemoryStore::default())).await;
}

/// This many rounds of 1 to 8 messages at once, after one that begins the chat.
async fn decisions(rounds: usize, stored: fn(WorldBuilder) -> WorldBuilder) {
    let model =
        ScriptedModel::deciding(|request: &Request| Some(Ok(Script::text(format!("re: {}", told(request))))));
    let world = stored(World::builder(model.clone()).tools(first_tools())).start().await;
    for round in 0..rounds {
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
    assert_eq!(decided, (0..rounds).map(|round| round % 8 + 2).sum::<usize>(), "one call for each message");
    assert_eq!(world.audit().await, []);
}
