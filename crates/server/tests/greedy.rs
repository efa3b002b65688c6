//! A client that wants everything at once gets it in parts, and anything too long that it sends is refused.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_engine::{Engine, Kinds, Page, kinds::parse};
use entourage_llm::{Error as ModelError, Message, Request, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store::{Error, Layered, MemoryStore, StoreLayer};
use entourage_store_sqlite::SqliteStore;
use entourage_tools::{Caller, Context, Done, Effect, Outcome, Tool};
use entourage_types::{AgentId, Note, NoteId, ToolSpec, Verdict};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream, sync::Notify};

use crate::{
    agencies::{agency, desk},
    site::{Site, send},
};

/// The most bytes of a page, including the entry that exceeds the limit and what JSON adds.
const MOST: usize = 2 << 20;

/// All pages of a list: their entries, and the bytes of the longest.
async fn read_all_pages(site: &Site, path: &str) -> (Vec<Vec<Value>>, usize) {
    let (mut pages, mut longest, mut next) = (Vec::new(), 0, String::new());
    loop {
        let answer = site.get(&format!("{path}?limit=200{next}")).await;
        longest = longest.max(answer.text.len());
        let page = answer.expect(200);
        pages.push(page["data"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => return (pages, longest),
        }
    }
}

#[tokio::test]
async fn a_list_of_long_entries_is_split_into_pages_of_bounded_size() {
    let site = Site::open().await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/agents/{id}/interventions");
    for number in 0..7 {
        let text = format!("{number}{}", "x".repeat(400_000));
        site.post(&path, &json!({"action": "comment", "text": text})).await.expect(202);
    }
    let (pages, longest) = read_all_pages(&site, &path).await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    assert!(longest < MOST, "{longest} bytes");
    let first = |entry: &Value| entry["text"].as_str().unwrap().chars().next().unwrap();
    assert_eq!(pages.iter().flatten().map(first).collect::<String>(), "6543210");
}

#[tokio::test]
async fn a_long_conversation_is_split_into_bounded_pages_without_loss() {
    let site = Site::open().await;
    let (mut id, mut last) = (String::new(), 0);
    for number in 0..4 {
        let message = format!("{number}{}", "x".repeat(400_000));
        if number == 0 {
            id = site.make(&message).await;
        } else {
            site.post(&format!("/v1/agents/{id}/messages"), &json!({"message": message})).await.expect(202);
        }
        let seen = site.follow(&id, last).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
        last = seen.last().and_then(|frame| frame.id).unwrap();
    }
    let (mut pages, longest) = read_all_pages(&site, &format!("/v1/agents/{id}/messages")).await;
    assert!(longest < MOST, "{longest} bytes");
    pages.reverse();
    let beginning =
        |entry: &Value| entry["text"].as_str().unwrap().trim_start_matches("You said: ")[..1].to_owned();
    assert_eq!(pages.iter().flatten().map(beginning).collect::<String>(), "00112233");

    // The transcript as the agent has it: a part without items is its end.
    let (mut from, mut seen) = (0, 0);
    loop {
        let answer = site.get(&format!("/v1/agents/{id}/items?limit=200&from={from}")).await;
        assert!(answer.text.len() < MOST, "{} bytes", answer.text.len());
        let part = answer.expect(200);
        from = part["next_from"].as_u64().unwrap();
        let items = part["data"].as_array().unwrap();
        if items.is_empty() {
            break;
        }
        let is_said = |item: &&Value| ["message", "turn"].contains(&item["type"].as_str().unwrap());
        seen += items.iter().filter(is_said).count();
    }
    assert_eq!(seen, 8);
}

/// A row that takes two fifths of a page.
fn long(number: usize) -> String {
    format!("{number}{}", "x".repeat(400_000))
}

/// How many long rows there are of each type.
const ROWS: usize = 7;

/// Returns a long text each time, or keeps a note as long as its argument: of the notes that agents usually
/// write, a page holds many.
struct Dig;

#[async_trait]
impl Tool for Dig {
    fn name(&self) -> &'static str {
        "dig"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object"});
        Some(ToolSpec::new("dig", "Digs.", parameters))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome, entourage_tools::Error> {
        let Some(content) = arguments["content"].as_str() else { return Ok(Outcome::text(long(0))) };
        let note = Note {
            id: NoteId::from_uuid(context.call.uuid()),
            owner: context.owner.clone(),
            root: context.root,
            agent: context.agent,
            title: "Dug up".into(),
            content: content.into(),
            created: context.now,
        };
        Ok(Outcome::Done(Done { text: "Noted.".into(), ..Done::default() }.with(&note)?))
    }
}

/// An orchestrator delegates its messages. The agent with the first task writes long notes one by one, the
/// agent with the second gets long outputs all at once, and each asks something long.
fn verbose(request: &Request) -> Script {
    let is_task = |number| {
        let is_it = |message: &Message| matches!(message, Message::User(text) if text.starts_with(number));
        request.messages.iter().any(is_it)
    };
    let written = request.messages.iter().filter(|message| matches!(message, Message::Output { .. })).count();
    let ask = json!({"question": long(0)});
    match request.messages.last() {
        Some(Message::User(text)) if request.system.contains("Lead them.") => {
            Script::call("spawn_agent", json!({"kind": "clerk", "task": text}))
        }
        _ if is_task('0') && written < ROWS => Script::call("dig", json!({"content": long(written)})),
        _ if is_task('1') => (0..ROWS).fold(Script::call("ask_user", ask), |script, number| {
            script.and_call("dig", json!({"where": number}))
        }),
        _ => Script::call("ask_user", ask),
    }
}

#[tokio::test]
async fn every_list_splits_long_rows_into_bounded_pages_without_loss() {
    let kind = |name: &str, front: &str| {
        let file = format!("---\nname: {name}\n{front}");
        parse(&format!("{name}.md"), &file).0.unwrap()
    };
    let kinds = Kinds::none()
        .with(kind("orchestrator", "program: orchestrate\npeers: [clerk]\n---\nLead them."))
        .with(kind("clerk", "tools: [dig, ask_user]\n---\nWork."));
    let model = ScriptedModel::deciding(|request| Some(Ok(verbose(request)))).with_window(100_000_000);
    let tools = entourage_tools::builtin(entourage_tools::Settings::default()).with(Dig);
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = Engine::builder(store, Arc::new(model)).tools(tools).kinds(kinds).build();
    let site = Site::serving(engine, Settings::default()).await;
    let chat = site.post("/api/chats", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    for number in 0..ROWS {
        let message = json!({"content": long(number)});
        site.post(&format!("/api/chats/{chat}/messages"), &message).await.expect(202);
        site.engine.advance(chat.parse().unwrap()).await.unwrap();
    }
    assert_bounded_pages(&site, &format!("/api/chats/{chat}/messages"), ROWS).await;
    let tasks = site.client().tasks(Some(chat.parse().unwrap()), None, Page::all()).await.unwrap();
    for task in &tasks {
        site.engine.advance(task.to).await.unwrap();
    }
    let (writer, digger) = (tasks[0].to, tasks[1].to);
    let run = site.get(&format!("/v1/agents/{digger}/runs")).await.expect(200)["data"][0]["id"].clone();
    for (path, rows) in [
        ("/v1/tasks".to_owned(), ROWS),
        ("/v1/notes".to_owned(), ROWS),
        ("/v1/questions".to_owned(), ROWS),
        // A model call, the question, and the outputs, none of which is read before the answer.
        (format!("/v1/runs/{}/steps", run.as_str().unwrap()), 2 + ROWS),
        (format!("/api/chats/{chat}/tasks"), ROWS),
        // Instructions, task, a call and its output for each note, and the question.
        (format!("/api/sub-agents/{writer}/messages"), 2 + 2 * ROWS + 1),
        (format!("/api/sub-agents/{writer}/tool-calls"), ROWS),
        // The calls of a turn under way.
        (format!("/api/sub-agents/{digger}/tool-calls"), ROWS),
        // The messages, and after them the question of each agent.
        (format!("/api/chats/{chat}/messages"), 2 * ROWS),
    ] {
        assert_bounded_pages(&site, &path, rows).await;
    }

    // Its question is answered, and it does the same again: the transcript now has all of the first turn.
    let question = site.client().questions_of(digger).await.unwrap().remove(0).id;
    let answer = json!({"answer": "Dig on."});
    site.post(&format!("/v1/questions/{question}/answer"), &answer).await.expect(200);
    site.engine.advance(digger).await.unwrap();
    let calls = assert_bounded_pages(&site, &format!("/api/sub-agents/{digger}/tool-calls"), 2 * ROWS).await;
    assert!(calls.iter().all(|call| call["result"] == long(0)), "each call is told with its output");
}

/// The long parts are a model provider's error and a rule of a kind file. The summaries of closed sessions
/// have at most a thousand characters: no page of them is long.
#[tokio::test]
async fn long_failed_runs_and_grants_are_split_into_bounded_pages() {
    let wary = format!(
        "---\nname: wary\napproval:\n  - tools: create_note\n    when: \"title !~ {}\"\n---\nNote it.",
        long(0)
    );
    let kinds = Kinds::none()
        .with(parse("wary.md", &wary).0.unwrap())
        .with(parse("broken.md", "---\nname: broken\n---\nBreak.").0.unwrap());
    let model = ScriptedModel::deciding(|request| {
        Some(match request.system.contains("Note it.") {
            true => Ok(Script::call("create_note", json!({"title": "t", "content": "c"}))),
            false => Err(ModelError::Refused { model: "m".into(), cause: long(0) }),
        })
    });
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = Engine::builder(store, Arc::new(model)).tools(tools).kinds(kinds).build();
    let site = Site::serving(engine, Settings::default()).await;
    let make = async |kind: &str| -> AgentId {
        let made = site.post("/v1/agents", &json!({"kind": kind})).await.expect(201);
        made["id"].as_str().unwrap().parse().unwrap()
    };
    let advance = async |agent: AgentId| {
        let messages = format!("/v1/agents/{agent}/messages");
        site.post(&messages, &json!({"message": "Go."})).await.expect(202);
        site.engine.advance(agent).await.unwrap();
    };
    let broken = make("broken").await;
    for _ in 0..ROWS {
        advance(broken).await;
        let careful = make("wary").await;
        advance(careful).await;
        let question = site.client().questions_of(careful).await.unwrap().remove(0).id;
        site.client().answer(question, Verdict::ApproveAlways.into()).await.unwrap();
    }
    let runs = assert_bounded_pages(&site, &format!("/v1/agents/{broken}/runs"), ROWS).await;
    assert!(runs.iter().all(|run| run["error"].as_str().unwrap().contains(&long(0))));
    let grants = assert_bounded_pages(&site, "/v1/grants", ROWS).await;
    assert!(grants.iter().all(|grant| grant["rule"].as_str().unwrap().contains(&long(0))));
}

/// Asserts that a list has so many rows, each once, in several pages of bounded bytes; returns them.
async fn assert_bounded_pages(site: &Site, path: &str, rows: usize) -> Vec<Value> {
    let (pages, longest) = read_all_pages(site, path).await;
    assert!(longest < MOST, "{path}: {longest} bytes");
    let name = |row: &Value| row.get("key").unwrap_or(&row["id"]).as_str().unwrap().to_owned();
    let names: BTreeSet<String> = pages.iter().flatten().map(name).collect();
    assert_eq!((names.len(), pages.concat().len()), (rows, rows), "{path}: each row once");
    assert!(pages.len() > 2, "{path}: {} pages", pages.len());
    pages.concat()
}

#[tokio::test]
async fn a_text_that_is_too_long_is_refused_without_effect_and_not_repeated() {
    let words = "w".repeat((1 << 20) + 1);
    let clerk = parse("clerk.md", "---\nname: clerk\napproval:\n  - tools: create_note\n---\nNote it.").0;
    let mut kinds = Kinds::builtin().with(clerk.unwrap());
    kinds.join(agency()).unwrap();
    let site = Site::of_kinds(kinds).await;
    let asks = async |kind: &str, message: &str| {
        let body = json!({"kind": kind, "message": message});
        let id = site.post("/v1/agents", &body).await.expect(201)["id"].as_str().unwrap().to_owned();
        site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "waiting")).await;
        let questions = site.get(&format!("/v1/questions?root={id}")).await.expect(200);
        (id, format!("/v1/questions/{}", questions["data"][0]["id"].as_str().unwrap()))
    };
    let (agent, question) = asks("assistant", "ask").await;
    let (wary, approval) = asks("clerk", "note").await;
    let chat = site.post("/api/chats", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let state = async || {
        let mut events = Vec::new();
        for agent in [&agent, &wary, &chat] {
            events.push(site.client().last_event(agent.parse().unwrap()).await.unwrap());
        }
        (events, site.client().agents(None, Page::all()).await.unwrap().len())
    };
    let before = state().await;
    let (interventions, judge) = (format!("/v1/agents/{agent}/interventions"), format!("{approval}/answer"));
    for (path, body) in [
        ("/v1/agents", json!({"message": words})),
        (&format!("/v1/agents/{agent}/messages"), json!({"message": words})),
        ("/v1/agencies/desk/responses", json!({"message": words})),
        ("/api/chats", json!({"message": words})),
        (&format!("/api/chats/{chat}/messages"), json!({"content": words})),
        (&interventions, json!({"action": "comment", "text": words})),
        (&interventions, json!({"action": "steer", "text": words})),
        (&interventions, json!({"action": "modify", "text": words})),
        (&interventions, json!({"action": "pause", "text": words})),
        (&interventions, json!({"action": "delete", "text": words})),
        (&format!("{question}/answer"), json!({"answer": words})),
        (&judge, json!({"answer": words})),
        (&judge, json!({"verdict": "reject", "reason": words})),
        (&judge, json!({"verdict": "approve", "arguments": {"title": "Found", "content": words}})),
        (&judge, json!({"verdict": "approve", "digest": words})),
    ] {
        let answer = site.post(path, &body).await;
        match body.get("digest") {
            None => answer.problem(422, "invalid-request"),
            // The digest is compared and not stored.
            Some(_) => answer.problem(409, "other-call"),
        };
        assert!(answer.text.len() < 1_000, "{path}: {} bytes", answer.text.len());
    }
    assert_eq!(state().await, before, "something has changed");
    for path in [question, approval] {
        assert_eq!(site.get(&path).await.expect(200)["status"], "open");
    }
}

#[tokio::test]
async fn a_name_that_is_too_long_is_refused_and_not_repeated() {
    let site = desk().await;
    let long = "n".repeat(100_000);
    let say = |field: &str| json!({"message": "hello", field: long});
    for (path, body) in [
        ("/v1/agents", say("title")),
        ("/v1/agents", say("kind")),
        ("/api/chats", say("title")),
        ("/v1/agencies/desk/responses", say("chat_id")),
        ("/v1/agencies/desk/responses", say("agent")),
        ("/v1/agencies/desk/responses", say("sender_name")),
        ("/v1/agencies/desk/responses", say("response_validator")),
    ] {
        let answer = send(site.request(Method::POST, path).json(&body)).await;
        answer.problem(422, "invalid-request");
        assert!(answer.text.len() < 1_000, "{path}: {} bytes", answer.text.len());
    }
}

#[tokio::test]
async fn a_full_inbox_refuses_further_messages() {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let site = Site::at_rest(store, Settings::default()).await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let (messages, long) = (format!("/v1/agents/{id}/messages"), json!({"message": "x".repeat(1 << 20)}));
    for _ in 0..16 {
        site.post(&messages, &long).await.expect(202);
    }
    let refused = site.post(&messages, &json!({"message": "one more"})).await.problem(409, "not-now");
    assert!(refused.detail.contains("its inbox is full"), "{}", refused.detail);
    // The conversation that people see is bounded, too, and the agent can still be stopped.
    assert!(site.get(&messages).await.text.len() < MOST);
    let stop = json!({"action": "delete"});
    site.post(&format!("/v1/agents/{id}/interventions"), &stop).await.expect(202);
}

/// Notifies when it is dropped.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A store that never answers, and notifies when a read begins and when it is dropped.
struct HungStore {
    asked: Arc<Notify>,
    left: Arc<Notify>,
}

#[async_trait]
impl StoreLayer for HungStore {
    async fn pass(&self) -> Result<(), Error> {
        let _leaves = NotifyOnDrop(Arc::clone(&self.left));
        self.asked.notify_one();
        std::future::pending().await
    }
}

/// A read that its client no longer waits for is not finished: it is dropped, which interrupts it.
#[tokio::test]
async fn a_disconnecting_client_cancels_its_read() {
    let (asked, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let endless = HungStore { asked: Arc::clone(&asked), left: Arc::clone(&left) };
    let store = Layered::new(Arc::new(MemoryStore::default()), endless);
    let site = Site::at_rest(Arc::new(store), Settings::default()).await;
    let mut client = TcpStream::connect(site.address).await.unwrap();
    client.write_all(b"GET /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
    let soon = |what: &'static str, told: Arc<Notify>| async move {
        tokio::time::timeout(Duration::from_secs(20), told.notified()).await.expect(what);
    };
    soon("the store is asked", asked).await;
    drop(client);
    soon("the read ends with whoever wanted it", left).await;
}
