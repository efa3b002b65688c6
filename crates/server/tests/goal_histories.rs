//! Archived conversations, messages that stay whatever becomes of a conversation, and what users never see of what a
//! model has read.

use std::time::Duration;

use entourage_engine::{Clock as _, Kinds};
use entourage_llm::{Request, Script, ScriptedModel};
use entourage_testkit::FakeClock;
use entourage_types::Usage;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    goal_site::{
        at_rest, at_work, create, data, engine, eventually, follow, is_of_task, is_said, say, seen_until,
        shown, speak, turns_since,
    },
    site::{Site, send},
    stream::Frame,
};

const MINUTE: Duration = Duration::from_secs(60);

/// Waits until a conversation was archived; returns it as it is in the list, and whole.
async fn archived(site: &Site, of: &str) -> (Value, Value) {
    let path = format!("{of}/agent_histories");
    let is_there = |page: &Value| page["data"].as_array().unwrap().len() == 1;
    let listed = eventually(site, &path, is_there).await["data"][0].clone();
    let whole = site.get(&format!("{path}/{}", listed["id"].as_str().unwrap())).await.expect(200);
    (listed, whole)
}

/// How many characters an entry of a history has.
fn characters(entry: &Value) -> usize {
    let of = |text: &Value| text.as_str().map_or(0, |text| text.chars().count());
    let blocks = entry["content"].as_array().into_iter().flatten();
    let of_block = |block: &Value| match block["type"].as_str().unwrap() {
        "text" => of(&block["text"]),
        "tool_use" => of(&block["name"]) + block["input"].to_string().len(),
        _ => of(&block["content"]),
    };
    of(&entry["content"]) + blocks.map(of_block).sum::<usize>()
}

/// The document of an archived conversation, worked out from its history.
fn document_of(history: &Value, reason: &str, [started, completed]: [&str; 2]) -> Value {
    let entries = history.as_array().unwrap();
    let is_said = |entry: &&Value| entry["role"] == "assistant" || entry["content"].is_string();
    json!({
        "agent_history": history,
        "summary": "They spoke of trains.",
        "completion_reason": reason,
        "message_count": entries.iter().filter(is_said).count(),
        "token_count": entries.iter().map(characters).sum::<usize>() / 4,
        "started_at": started,
        "completed_at": completed,
    })
}

/// The same document, once without its id and once without what was said.
fn without(document: &Value, field: &str) -> Value {
    let mut document = document.clone();
    document.as_object_mut().unwrap().remove(field);
    document
}

/// Shows: S4-R043, S4-R050, S4-R051, S4-R052.
#[tokio::test]
async fn an_archived_conversation_says_what_was_said_why_it_ended_how_long_it_was_and_when() {
    let model = ScriptedModel::deciding(|request| Some(Ok(speak(request))));
    let clock = FakeClock::default();
    let site = at_work(engine(model, &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let path = format!("/api/goals/{goal}");
    clock.advance(MINUTE);
    let began = clock.now().to_string();
    say(&site, &goal, "three notes").await;
    at_rest(&site, &goal).await;
    clock.advance(MINUTE);
    say(&site, &goal, "Hello.").await;
    at_rest(&site, &goal).await;
    let history = site.get(&format!("{path}/inspect")).await.expect(200)["llm_history"].clone();
    assert_eq!(
        history.as_array().unwrap().len(),
        12,
        "two messages, five answers and what their calls returned"
    );
    clock.advance(30 * MINUTE);
    let (listed, whole) = archived(&site, &path).await;
    let ended = clock.now().to_string();
    let expected = document_of(&history, "session_timeout", [&began, &ended]);
    assert_eq!((&expected["message_count"], without(&whole, "id")), (&json!(7), expected.clone()));
    assert_eq!(without(&whole, "agent_history"), listed);
    // A feed is archived at once.
    let user_agent = site.get("/api/user_agent").await.expect(200)["id"].clone();
    let feed = json!({ "type": "UserAgent", "id": user_agent, "context": { "type": "feed_generation" } });
    assert_eq!(site.post("/api/orchestrate", &feed).await.expect(202)["outcome"], "scheduled");
    let (_, whole) = archived(&site, "/api/user_agent").await;
    let history = &whole["agent_history"];
    assert!(history[0]["content"].as_str().unwrap().starts_with("Write the feed"), "{whole}");
    let expected = document_of(history, "feed_generation_complete", [&ended, &ended]);
    assert_eq!((&expected["message_count"], without(&whole, "id")), (&json!(2), expected.clone()));
}

/// A model that is read at four bytes to a token, in a window that a few long messages fill.
fn narrow() -> ScriptedModel {
    let size =
        |request: &Request| format!("{}{:?}{:?}", request.system, request.messages, request.tools).len();
    let model = ScriptedModel::deciding(move |request| {
        let usage = Usage { input: size(request) as u64 / 4, output: 10, ..Usage::default() };
        let script = match turns_since(request) {
            _ if is_summary(request) => Script::text("They spoke at length."),
            _ if request.system.starts_with("You keep the records") => Script::text("It was long."),
            (_, asked) => {
                Script::call("send_message", json!({ "message": format!("Read: {}", &asked[..3]) }))
            }
        };
        Some(Ok(script.using(usage)))
    });
    model.with_window(16_384)
}

/// Whether a request condenses the earlier part of a conversation.
fn is_summary(request: &Request) -> bool {
    request.system.starts_with("You keep the memory")
}

/// Shows: S4-R032.
#[tokio::test]
async fn messages_stay_when_a_conversation_is_compacted_and_when_it_is_archived() {
    let (model, clock) = (narrow(), FakeClock::default());
    let site = at_work(engine(model.clone(), &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let mut expected = Vec::new();
    for number in 1..=8 {
        let text = format!("{number:03} {}", "far ".repeat(3_000));
        say(&site, &goal, &text).await;
        at_rest(&site, &goal).await;
        expected.extend([["user".to_owned(), text], ["agent".to_owned(), format!("Read: {number:03}")]]);
    }
    let thread = async || {
        let messages = data(&site, &format!("/api/goals/{goal}/thread_messages")).await;
        shown(&messages)
            .into_iter()
            .map(|[from, _, text]| [from, text].map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let requests = model.requests();
    assert!(requests.iter().any(is_summary), "it was compacted");
    let last = format!("{:?}", requests.last().unwrap().messages);
    assert!(!last.contains("001 far"), "the model reads the beginning no more");
    assert_eq!(thread().await, expected);
    clock.advance(30 * MINUTE);
    archived(&site, &format!("/api/goals/{goal}")).await;
    assert_eq!(thread().await, expected);
}

/// What the model of a goal and that of its task write beside their calls.
const UNSENT: [&str; 2] = ["Thought of a goal.", "Thought of a task."];
/// What a tool returns to them.
const RETURNED: &str = "Noted in this conversation";

/// The paths of a user that can be read, of a goal, its task, and the user agent.
fn paths_of_users(goal: &str, task: &str, histories: [&str; 2]) -> Vec<String> {
    let description: Value = serde_json::from_str(&entourage_server::openapi_json()).unwrap();
    let paths = description["paths"].as_object().unwrap();
    let read = paths.iter().filter(|(_, operations)| operations.get("get").is_some()).map(|(path, _)| path);
    let filled = read.filter_map(|path| {
        let (of, below) = path.strip_prefix("/api/")?.split_once('/').unwrap_or((&path[5..], ""));
        let [id, history] = match of {
            "goals" => [goal, histories[0]],
            "agent_tasks" => [task, ""],
            "user_agent" => ["", histories[1]],
            "me" => ["", ""],
            _ => return None,
        };
        let below = below.replace("{id}", id).replace("{history}", history);
        Some(format!("/api/{of}/{below}").trim_end_matches('/').to_owned())
    });
    filled.collect()
}

/// What a model has read and answered is in nothing that a user gets, neither while the conversation goes on nor once it
/// is archived.
///
/// Shows: S4-R038.
#[tokio::test]
async fn no_path_and_no_stream_of_a_user_has_what_a_model_has_read() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match turns_since(request) {
            _ if request.system.starts_with("You keep the records") => Script::text("They spoke."),
            (0, _) if is_of_task(request) => {
                Script::text(UNSENT[1]).and_call("create_note", json!({ "title": "T", "content": "Blue." }))
            }
            _ if is_of_task(request) => Script::text("Found."),
            (0, "Look.") => Script::text(UNSENT[0])
                .and_call("create_task", json!({ "title": "T", "instructions": "Look." })),
            (0, _) => Script::text(UNSENT[0]).and_call("search_notes", json!({ "query": "note" })),
            _ => Script::call("send_message", json!({ "message": "Done." })),
        }))
    });
    let clock = FakeClock::default();
    let site = Site::serving(engine(model, &clock, Kinds::builtin()).build(), settings()).await;
    site.work();
    let (user, operator) = (site.bearing(&token_of("ada")), site.bearing(&token_of("local")));
    let goal = create(&user).await;
    say(&user, &goal, "Look.").await;
    let is_done = |page: &Value| page["data"][0]["status"] == "completed";
    let tasks = eventually(&user, &format!("/api/agent_tasks?goal_id={goal}"), is_done).await;
    let task = tasks["data"][0]["id"].as_str().unwrap().to_owned();
    at_rest(&user, &goal).await;
    clock.advance(30 * MINUTE);
    let (_, of_goal) = archived(&user, &format!("/api/goals/{goal}")).await;
    // The user agent's conversation is archived as well; the goal's next one goes on.
    let said = json!({ "content": "Look for it." });
    user.post("/api/user_agent/thread_messages", &said).await.expect(201);
    let mut live = follow(&user, "/api/user_agent/stream", None).await;
    seen_until(&mut live, |frame| is_said(frame, "Done.")).await;
    clock.advance(30 * MINUTE);
    let (_, of_user_agent) = archived(&user, "/api/user_agent").await;
    say(&user, &goal, "Search.").await;
    at_rest(&user, &goal).await;
    let histories = [&of_goal, &of_user_agent].map(|history| history["id"].as_str().unwrap());
    let paths = paths_of_users(&goal, &task, histories);
    assert!(paths.len() > 20, "{paths:?}");
    for path in paths {
        let text = if path.ends_with("/stream") {
            // While a tool is at work, a stream tells what it returns, and that is not kept.
            let mut stream = follow(&user, &path, Some(0)).await;
            let is_last = |frame: &Frame| is_said(frame, "Done.") || frame.event == "tool_complete";
            let frames = seen_until(&mut stream, is_last).await;
            format!("{:?}", frames.iter().filter(|frame| frame.event == "message").collect::<Vec<_>>())
        } else {
            send(user.request(Method::GET, &path)).await.text
        };
        for hidden in UNSENT.iter().chain(&[RETURNED, "tool_use", "tool_result", "llm_history"]) {
            assert!(!text.contains(hidden), "{path} has `{hidden}`: {text}");
        }
    }
    // It is all there: the operator sees it of an agent of their own.
    let own = create(&operator).await;
    say(&operator, &own, "Search.").await;
    at_rest(&operator, &own).await;
    let inspected = operator.get(&format!("/api/goals/{own}/inspect")).await.expect(200);
    assert!(inspected["llm_history"].to_string().contains(UNSENT[0]), "{inspected}");
    clock.advance(30 * MINUTE);
    let (_, whole) = archived(&operator, &format!("/api/goals/{own}")).await;
    assert_eq!(whole["agent_history"], inspected["llm_history"]);
}
