//! A site for tests of goals: what its agents do, and how a client looks at goals, tasks and threads.

use std::sync::Arc;

use entourage_engine::{Builder, Engine, Kinds};
use entourage_llm::{Message, Model, Request, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store::Store;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{FakeClock, quiet};
use entourage_types::{Kind, Usage};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    site::{Site, asking},
    stream::{Frame, Stream, within},
};

pub(crate) const USED: Usage = Usage { input: 1_000, output: 100, reasoning: 0, cached: 0, cache_written: 0 };

pub(crate) fn is_of_task(request: &Request) -> bool {
    request.system.starts_with("You work on one task")
}

/// The model's script, which each message to a goal selects: `notes` has it write three notes, one after the other,
/// `task` has it create a task, which notes something; all else it answers.
pub(crate) fn speak(request: &Request) -> Script {
    let (turns, asked) = turns_since(request);
    let note = |title: &str| Script::call("create_note", json!({ "title": title, "content": "It is blue." }));
    let script = match (is_of_task(request), asked, turns) {
        _ if request.system.starts_with("You keep the records") => Script::text("They spoke of trains."),
        (true, _, 0) => note("Of the task"),
        (true, ..) => Script::text("Six trains a day."),
        (_, asked, 0..3) if asked.contains("notes") => note(&format!("Note {turns}")),
        (_, asked, 0) if asked.contains("task") => {
            Script::call("create_task", json!({ "title": "Trains", "instructions": "Find the trains." }))
        }
        (_, asked, _) if asked.contains("silent") => Script::text("I think of it."),
        (_, asked, _) => Script::text("A thought.")
            .and_call("send_message", json!({ "message": format!("Done: {asked}") })),
    };
    script.using(USED)
}

/// An engine with these kinds whose model and clock the test has in hand.
pub(crate) fn engine(model: impl Model, clock: &FakeClock, kinds: Kinds) -> Builder {
    engine_over(Arc::new(SqliteStore::in_memory().unwrap()), model, clock, kinds)
}

/// The same over this store.
pub(crate) fn engine_over(
    store: Arc<dyn Store>,
    model: impl Model,
    clock: &FakeClock,
    kinds: Kinds,
) -> Builder {
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let engine = Engine::builder(store, Arc::new(model)).tools(tools).kinds(quiet(kinds));
    engine.clock(Arc::new(clock.clone()))
}

/// The built-in kinds with one of them changed.
pub(crate) fn changed(name: &str, change: impl Fn(&mut Kind)) -> Kinds {
    let mut kind = Kind::clone(&Kinds::builtin().get(name).expect("it is built in"));
    change(&mut kind);
    kind.version.clear();
    Kinds::builtin().with(kind)
}

/// The built-in kinds, one of which has these tools as well.
pub(crate) fn with_tools(name: &str, tools: &[&str]) -> Kinds {
    changed(name, |kind| {
        kind.tools.get_or_insert_default().extend(tools.iter().map(|tool| (*tool).to_owned()))
    })
}

/// A site whose agents work.
pub(crate) async fn at_work(engine: Engine) -> Site {
    let site = Site::serving(engine, Settings::default()).await;
    site.work();
    site
}

/// A site whose agents do what each message says.
pub(crate) async fn site() -> Site {
    let model = ScriptedModel::deciding(|request| Some(Ok(speak(request))));
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    at_work(asking(Arc::new(model), store, quiet(Kinds::builtin()))).await
}

/// The number of turns since the last message, and that message.
pub(crate) fn turns_since(request: &Request) -> (usize, &str) {
    let turns = request.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
    let turns = turns.filter(|message| matches!(message, Message::Assistant { .. })).count();
    let asked = request.messages.iter().rev().find_map(|message| match message {
        Message::User(text) => Some(text.as_str()),
        _ => None,
    });
    (turns, asked.unwrap_or_default())
}

pub(crate) async fn create(site: &Site) -> String {
    let new = json!({ "title": "Rome", "description": "A week in May.", "instructions": "Cheaply." });
    let goal = site.post("/api/goals", &new).await.expect(201);
    assert_eq!(goal["status"], "waiting", "{goal}");
    goal["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn say(site: &Site, goal: &str, text: &str) -> Value {
    site.post(&format!("/api/goals/{goal}/thread_messages"), &json!({ "content": text })).await.expect(201)
}

pub(crate) async fn data(site: &Site, path: &str) -> Vec<Value> {
    site.get(path).await.expect(200)["data"].as_array().unwrap().clone()
}

/// What a GET shows once that fits.
pub(crate) async fn eventually(site: &Site, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
    within(path, async {
        loop {
            let shown = site.get(path).await.expect(200);
            if fits(&shown) {
                return shown;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

pub(crate) async fn at_rest(site: &Site, goal: &str) {
    eventually(site, &format!("/api/goals/{goal}"), |goal| goal["status"] == "waiting").await;
}

pub(crate) fn is_said(frame: &Frame, text: &str) -> bool {
    frame.event == "message" && frame.data["source"] == "agent" && frame.data["content"] == text
}

pub(crate) async fn follow(site: &Site, path: &str, after: Option<u64>) -> Stream {
    let request = site.request(Method::GET, path);
    Stream::open(match after {
        Some(number) => request.header("last-event-id", number),
        None => request,
    })
    .await
}

/// The events of a stream up to the one that fits.
pub(crate) async fn seen_until(stream: &mut Stream, fits: impl Fn(&Frame) -> bool) -> Vec<Frame> {
    let mut seen = Vec::new();
    loop {
        let frame = within("an event", stream.next()).await.expect("the stream goes on");
        let is_last = fits(&frame);
        seen.push(frame);
        if is_last {
            return seen;
        }
    }
}

/// Source, type and content of messages.
pub(crate) fn shown(messages: &[Value]) -> Vec<[&str; 3]> {
    messages
        .iter()
        .map(|message| ["source", "message_type", "content"].map(|of| message[of].as_str().unwrap()))
        .collect()
}
