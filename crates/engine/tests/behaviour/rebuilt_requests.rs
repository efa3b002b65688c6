//! The requests of decisions and summaries are rebuilt from rows as well, whatever happened in between.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::kit::{
    Effects, TestTool, WithProgram, WorldExt, at_once, bare, first_tools, is_worker, one_kind, programmed,
};
use entourage_engine::{Client, Conversation, DecisionRequest, DecisionView, Interrupt, NewAgent, Run};
use entourage_llm::{Error, Message, Model, NoDeltas, Priority, Request, Script, ScriptedModel};
use entourage_testkit::{Fault, Faults, World};
use entourage_tools::{Effect, Outcome, Toolbox};
use entourage_types::{AgentId, Item, ItemBody, Kind};
use futures::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};

use super::requests::{Tapped, WeakModel};

/// The items of an agent that a model wrote, in order.
async fn answers(client: &Client, agent: AgentId) -> Vec<Item> {
    let items = client.items(agent, 0, 10_000).await.unwrap();
    let is_asked = |item: &Item| match &item.body {
        ItemBody::Turn(turn) => turn.asked.is_some(),
        ItemBody::Decision(decision) => decision.asked.is_some(),
        ItemBody::Digest(digest) => digest.asked.is_some(),
        _ => false,
    };
    items.into_iter().filter(is_asked).collect()
}

/// What a provider receives of a request: who goes first and on whose account stays with the engine.
fn sent(request: &Request) -> String {
    format!("{:?}", Request { priority: Priority::default(), owner: None, ..request.clone() })
}

/// Rebuilds every request of an agent, proved.
async fn rebuilt(client: &Client, agent: AgentId) -> Vec<String> {
    let mut all = Vec::new();
    for item in answers(client, agent).await {
        let request = client.request_of_item(agent, item.seq).await.unwrap();
        assert_eq!((request.doubt, request.item.seq, request.run), (None, item.seq, item.run));
        all.push(sent(&request.request));
    }
    all
}

fn ask(instructions: &str) -> DecisionRequest {
    let schema = json!({
        "type": "object", "required": ["yes"],
        "properties": { "yes": { "type": "boolean" }, "odd": { "maximum": 0.123_456_789_012_345_68 } },
    });
    DecisionRequest::new(instructions, schema)
}

fn reads(conversation: Conversation, text: &str) -> DecisionView {
    DecisionView { conversation, text: text.into() }
}

/// Decides three times, each time of another view, and lets the model answer.
fn decides<'r>(run: &'r mut Run<'_>) -> BoxFuture<'r, Result<String, Interrupt>> {
    async move {
        run.receive().await?;
        run.decide("clear", ask("Is \"it\" <clear>?\n")).await??;
        let latest = reads(Conversation::Latest(2), "Data: \u{e9} & \u{1f600}");
        run.decide("latest", DecisionRequest { view: latest, temperature: Some(0.1), ..ask("Is it new?") })
            .await??;
        let nothing = reads(Conversation::None, "");
        run.decide("alone", DecisionRequest { view: nothing, attempts: 1, ..ask("Well?") }).await?.ok();
        entourage_engine::programs::converse(run).await
    }
    .boxed()
}

#[tokio::test]
async fn a_rebuilt_decision_is_to_the_byte_what_the_provider_received_on_every_wire() {
    let script = ScriptedModel::new([
        Script::text("{\"yes\": \"<perhaps>\"}"),
        Script::text("{\"yes\": true}"),
        Script::text("no JSON"),
        Script::text("{\"yes\": true}"),
        Script::text("I cannot say."),
        Script::text("Painted."),
    ]);
    let model = Tapped::new(script).await;
    let (bodies, again) = (model.bodies(), Tapped::new(ScriptedModel::new([])).await);
    let kinds = programmed(|kind| (kind.temperature, kind.limits.max_output_chars) = (Some(0.3), 400));
    let world = World::builder(model).tools(first_tools()).kinds(kinds).program(&[], decides).start().await;
    let root = world.ask("Paint <b>it</b>.").await;
    world.ended(root.id).await;
    let client = world.client();
    let answers = answers(&client, root.id).await;
    let bodies = bodies.lock().unwrap().clone();
    assert_eq!((answers.len(), bodies.len()), (6, 6));
    for (item, sent) in answers.iter().zip(&bodies) {
        let rebuilt = client.request_of_item(root.id, item.seq).await.unwrap();
        assert_eq!((rebuilt.doubt, rebuilt.item.seq), (None, item.seq));
        assert_eq!(&again.sent(&rebuilt.request).await, sent, "item {}", item.seq);
    }
    let message = client.request_of_item(root.id, 0).await;
    assert!(message.is_err() && client.request_of_item(root.id, 99).await.is_err(), "no model wrote it");
    assert_eq!(world.audit().await, []);
}

/// A decision of a weak model has its schema as the grammar, and the rebuilt request leads to the same bytes.
#[tokio::test]
async fn a_rebuilt_decision_leads_to_the_bytes_that_the_provider_of_a_weak_model_received() {
    const TEXTS: [&str; 5] = [
        r#"{"yes": "<perhaps>"}"#,
        r#"{"yes": true}"#,
        r#"{"yes": true}"#,
        "{}",
        r#"{"action": "final_answer", "text": "Painted."}"#,
    ];
    let weak = WeakModel::default();
    let router = Arc::new(weak.router().await);
    weak.says(&TEXTS);
    let world = World::builder(Arc::clone(&router)).tools(first_tools()).kinds(programmed(|_| {}));
    let world = world.program(&[], decides).start().await;
    let root = world.ask("Paint <b>it</b>.").await;
    world.ended(root.id).await;
    let received = weak.took();
    let answers = answers(&world.client(), root.id).await;
    let decisions = answers.iter().filter(|item| matches!(item.body, ItemBody::Decision(_))).count();
    assert_eq!((decisions, answers.len(), received.len()), (4, 5, 5), "{received:?}");
    for body in &received[..decisions] {
        let sent: Value = serde_json::from_str(body).unwrap();
        let schema = &sent["response_format"]["json_schema"]["schema"];
        let DecisionRequest { schema: wanted, .. } = ask("");
        let yes = |schema: &Value| (schema["required"].clone(), schema["properties"]["yes"].clone());
        assert_eq!(yes(schema), yes(&wanted), "{body}");
    }
    weak.says(&TEXTS);
    for item in &answers {
        let rebuilt = world.client().request_of_item(root.id, item.seq).await.unwrap();
        assert_eq!(rebuilt.doubt, None, "item {}", item.seq);
        router.call(rebuilt.request, &mut NoDeltas).await.unwrap();
    }
    assert_eq!(weak.took(), received);
    assert_eq!(world.audit().await, []);
}

/// A leader whose window fills again and again, and who has each message looked up by a worker.
fn delegating() -> ScriptedModel {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            _ if request.system.starts_with("You keep the") => Script::text("It was <long>."),
            Some(Message::User(text)) if is_worker(request) => Script::text(format!("\u{e9}: {text}")),
            Some(Message::User(_)) => {
                Script::call("send_message", json!({ "recipient": "worker", "message": "<b> & \"look\"" }))
            }
            Some(Message::Output { .. }) => Script::text("So it is.\n".repeat(150)),
            other => Script::text(format!("unexpected {other:?}")),
        }))
    });
    model.with_window(4_096)
}

/// Digests and delegated work, over every wire: each request is rebuilt to the bytes that each provider received, and
/// none was sent that is not on record.
#[tokio::test]
async fn requests_around_digests_and_those_of_sub_agents_are_rebuilt_to_the_byte_on_every_wire() {
    let model = Tapped::new(delegating()).await;
    let (bodies, again) = (model.bodies(), Tapped::new(ScriptedModel::new([])).await);
    let worker = Kind { instructions: "You are a worker".into(), ..bare("worker") };
    let kinds = one_kind(|kind| kind.peers = vec!["worker".into()]).with(worker);
    let world = World::builder(model).tools(first_tools()).kinds(kinds).dispatchers(at_once(4)).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    for n in 0..8 {
        let text = format!("message {n} {}", "<x> ".repeat(300));
        world.client().send(root.id, &text, None).await.unwrap();
        world.ended(root.id).await;
    }
    let client = world.client();
    let mut received = bodies.lock().unwrap().clone();
    let (mut digests, mut below) = (0, 0);
    for agent in client.tree(root.id).await.unwrap() {
        for item in answers(&client, agent.id).await {
            let rebuilt = client.request_of_item(agent.id, item.seq).await.unwrap();
            assert_eq!(rebuilt.doubt, None, "item {} of {}", item.seq, agent.kind);
            let sent = again.sent(&rebuilt.request).await;
            let found = received.iter().position(|bodies| *bodies == sent);
            received.remove(found.unwrap_or_else(|| panic!("item {} of {}: {sent:?}", item.seq, agent.kind)));
            digests += usize::from(matches!(item.body, ItemBody::Digest(_)));
            below += usize::from(agent.id != root.id);
        }
    }
    assert_eq!(received, [] as [Vec<String>; 0], "each of them answers an item");
    assert!(digests > 0 && below == 8, "{digests} digests, {below} turns of the worker");
    assert_eq!(world.audit().await, []);
}

/// An answer that does not fit is on record, and then the process dies or the provider wants a pause: the next request
/// is the one that would have been made at once, with the refused answer behind the conversation and not in it.
#[tokio::test]
async fn a_decision_is_asked_for_again_with_the_same_request_after_a_crash_and_a_retry() {
    for crash in [true, false] {
        let model = ScriptedModel::new([Script::text("{\"yes\": 1}")]);
        let pause = Some(Duration::from_secs(600));
        model.push(Err(Error::RateLimited { model: "m".into(), retry_after: pause }));
        for text in ["{\"yes\": true}", "{\"yes\": false}", "{\"yes\": false}", "Painted."] {
            model.push(Ok(Script::text(text)));
        }
        let world = World::builder(model.clone()).tools(first_tools()).kinds(programmed(|_| {}));
        let world = world.program(&[], decides).start().await;
        let root = world.ask("Paint it.").await;
        world.asleep(&root).await;
        let faults = if crash { Faults::default().plan(1, Fault::DieAfter) } else { Faults::default() };
        let world = world.restart(faults).await;
        world.clock().advance(Duration::from_secs(601));
        let world = if crash {
            crate::kit::eventually("it dies", async || world.faults().is_dead(), |dead| *dead).await;
            world.restart(Faults::default()).await
        } else {
            world
        };
        world.ended(root.id).await;
        let requests = model.requests();
        let rebuilt = rebuilt(&world.client(), root.id).await;
        // The request that had to wait was the same as the one that was answered.
        assert_eq!(sent(&requests[1]), rebuilt[1]);
        let received: Vec<String> = requests.iter().map(sent).collect();
        assert!(rebuilt.iter().all(|one| received.contains(one)), "crash: {crash}");
        assert!(received.iter().all(|one| rebuilt.contains(one)), "crash: {crash}");
        let [Message::User(read), Message::Assistant { text, .. }, Message::Notice(_)] =
            &requests[1].messages[..]
        else {
            panic!("{:?}", requests[1])
        };
        assert_eq!(
            (read.as_str(), text.as_str()),
            ("<conversation>\nUser: Paint it.\n</conversation>", "{\"yes\": 1}")
        );
        assert_eq!(world.audit().await, []);
    }
}

/// The prompt is on record once, with the first answer.
#[tokio::test]
async fn what_a_program_wanted_decided_is_stored_once_for_all_answers() {
    let texts = ["{}", "{}", "{\"yes\": true}"];
    let model = ScriptedModel::new(texts.map(Script::text));
    let world = World::builder(model).kinds(programmed(|_| {})).program(&[], |run| {
        async move {
            run.receive().await?;
            let decided =
                run.decide("clear", DecisionRequest { attempts: 3, ..ask("Is it clear?") }).await??;
            Ok(run.say(decided.to_string()))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Paint it.").await;
    world.ended(root.id).await;
    let kept: Vec<bool> = answers(&world.client(), root.id)
        .await
        .iter()
        .map(|item| matches!(&item.body, ItemBody::Decision(decision) if decision.prompt.is_some()))
        .collect();
    assert_eq!(kept, [true, false, false]);
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn the_requests_of_summaries_are_rebuilt_as_the_model_received_them() {
    let made = AtomicUsize::new(0);
    let model = ScriptedModel::deciding(move |request| {
        Some(Ok(if request.system.starts_with("You keep the") {
            Script::text("Many were fetched.")
        } else if made.fetch_add(1, Ordering::Relaxed) < 14 {
            Script::call("bulk", json!({ "n": 1 }))
        } else {
            Script::text("Done.")
        }))
    });
    let model = model.with_window(4_096).with_summary("small");
    let bulk = TestTool::answering("bulk", Effect::Pure, &Effects::default(), |_, arguments| {
        Ok(Outcome::text(format!("{arguments} <{}>", "x".repeat(1_500))))
    });
    let kinds = one_kind(|kind| (kind.limits.max_same_tool, kind.limits.max_steps) = (1_000, 1_000));
    let world = World::builder(model.clone()).tools(Toolbox::new().with(bulk)).kinds(kinds).start().await;
    let root = world.ask("Fetch <all> of them.").await;
    world.ended(root.id).await;
    for text in ["More.", "And more."] {
        world.client().send(root.id, text, None).await.unwrap();
        world.ended(root.id).await;
    }
    world.client().close_session(root.id).await.unwrap();
    world.client().send(root.id, "In a new session.", None).await.unwrap();
    crate::kit::eventually(
        "the session is closed",
        async || world.client().agent(root.id).await.unwrap().session,
        |session| *session == 2,
    )
    .await;
    world.ended(root.id).await;
    let received: Vec<String> = model.requests().iter().map(sent).collect();
    assert_eq!(rebuilt(&world.client(), root.id).await, received);
    let of = |task: &str| model.requests().iter().filter(|request| request.system.starts_with(task)).count();
    assert!(
        of("You keep the memory") > 0 && of("You keep the records") == 1,
        "digests and the end of a session"
    );
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_changed_row_makes_a_rebuilt_decision_doubtful() {
    let database = crate::kit::Database::new();
    let model = ScriptedModel::new(["{\"yes\": true}"; 3].map(Script::text));
    model.push(Ok(Script::text("Painted.")));
    let world = World::builder(model).tools(first_tools()).kinds(programmed(|_| {})).store(database.open());
    let world = world.program(&[], decides).start().await;
    let root = world.ask("Paint it.").await;
    world.ended(root.id).await;
    let client = world.client();
    assert_eq!(rebuilt(&client, root.id).await.len(), 4);
    database.execute("UPDATE items SET body = replace(body, 'Is it new?', 'Is it old?')");
    let answers = answers(&client, root.id).await;
    let mut doubts = Vec::new();
    for item in &answers[..3] {
        doubts.push(client.request_of_item(root.id, item.seq).await.unwrap().doubt);
    }
    assert!(doubts[1].as_ref().is_some_and(|doubt| doubt.contains("has changed")), "{doubts:?}");
    assert!(doubts[0].is_none() && doubts[2].is_none(), "{doubts:?}");
    let other = world.engine().client(entourage_types::Owner::new("other"));
    assert!(other.request_of_item(root.id, answers[0].seq).await.is_err(), "another user does not find it");
}
