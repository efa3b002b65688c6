//! Chats over HTTP: the documents of an orchestrator and its sub-agents, and how they change.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_engine::{Engine, Guardrail, GuardrailInput, Kinds, NewAgent, Page, kinds::parse};
use entourage_llm::{Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_types::{Owner, Time};
use serde_json::{Value, json};

use crate::{
    site::{Site, asking, engine, send},
    stream::{Frame, Stream},
};

/// A site whose agents work only when a test advances them.
async fn site() -> Site {
    let store = Arc::new(SqliteStore::in_memory().expect("a store"));
    Site::at_rest(store, Settings::default()).await
}

async fn list(site: &Site, path: &str) -> Vec<Value> {
    site.get(path).await.expect(200)["data"].as_array().expect("a list").clone()
}

/// The same list, read in pages of one item each, from the end to the beginning.
async fn read_in_pages_of_one(site: &Site, path: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("{path}?limit=1{cursor}")).await.expect(200);
        all.splice(0..0, page["data"].as_array().expect("a list").clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

#[tokio::test]
async fn a_message_has_one_time_when_sent_while_unread_once_read_and_when_sent_again() {
    let site = site().await;
    let chat = begin_chat(&site, "hello").await;
    let path = format!("/api/chats/{chat}/messages");
    let send_once = async || {
        let request = site.request(reqwest::Method::POST, &path).header("idempotency-key", "k");
        send(request.json(&json!({ "content": "and now" }))).await.expect(202)
    };
    let sent = send_once().await;
    let listed = async || {
        let all = list(&site, &path).await;
        all.into_iter().find(|message| message["id"] == sent["id"]).expect("it is listed")
    };
    assert_eq!(listed().await, sent, "unread");
    advance(&site, &chat).await;
    assert_eq!(listed().await, sent, "read");
    assert_eq!(send_once().await, sent, "sent again");
}

/// Begins a chat with a message, on which the orchestrator then decides.
async fn begin_chat(site: &Site, message: &str) -> String {
    let chat = site.post("/api/chats", &json!({ "message": message })).await.expect(201);
    let chat = chat["id"].as_str().expect("an id").to_owned();
    advance(site, &chat).await;
    chat
}

async fn advance(site: &Site, agent: &str) {
    site.engine.advance(agent.parse().expect("an agent")).await.expect("it goes on");
}

async fn say(site: &Site, chat: &str, content: &str) -> Value {
    site.post(&format!("/api/chats/{chat}/messages"), &json!({ "content": content })).await.expect(202)
}

/// The status of the chat's only task, the status of its only sub-agent, and the sub-agent's id.
async fn task_and_agent_status(site: &Site, chat: &str) -> (String, String, String) {
    let tasks = list(site, &format!("/api/chats/{chat}/tasks")).await;
    let below = list(site, &format!("/api/chats/{chat}/sub-agents")).await;
    let ([task], [agent]) = (&tasks[..], &below[..]) else { panic!("{tasks:?} {below:?}") };
    assert_eq!((&task["type"], &task["name"]), (&json!("agent"), &json!("agent:researcher")));
    assert_eq!((&task["subAgentId"], &agent["taskId"]), (&agent["id"], &task["id"]));
    assert_eq!((&task["chatId"], &agent["chatId"]), (&json!(chat), &json!(chat)));
    assert_eq!(site.get(&format!("/api/tasks/{}", text(&task["id"]))).await.expect(200), *task);
    assert_eq!(site.get(&format!("/api/sub-agents/{}", text(&agent["id"]))).await.expect(200), *agent);
    (text(&task["status"]), text(&agent["status"]), text(&agent["id"]))
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Role and content of each document.
fn roles_and_contents(documents: &[Value]) -> Vec<(String, String)> {
    documents.iter().map(|document| (text(&document["role"]), text(&document["content"]))).collect()
}

fn role_and_content(role: &str, content: &str) -> (String, String) {
    (role.to_owned(), content.to_owned())
}

#[tokio::test]
async fn a_chat_can_be_created_listed_and_deleted() {
    let site = site().await;
    let first = begin_chat(&site, "hello").await;
    let titled = site.post("/api/chats", &json!({"title": "Later"})).await.expect(201);
    assert_eq!(titled["title"], "Later");
    site.make("not a chat").await;
    let page = site.get("/api/chats?limit=1").await.expect(200);
    assert_eq!((&page["data"][0], page["data"].as_array().unwrap().len()), (&titled, 1));
    let cursor = text(&page["next_cursor"]);
    let last = site.get(&format!("/api/chats?limit=1&cursor={cursor}")).await.expect(200);
    assert_eq!((&last["data"][0]["id"], &last["next_cursor"]), (&json!(first), &Value::Null));

    let messages = list(&site, &format!("/api/chats/{first}/messages")).await;
    assert_eq!(
        roles_and_contents(&messages),
        [role_and_content("user", "hello"), role_and_content("assistant", "You said: hello")]
    );
    assert_eq!(list(&site, &format!("/api/chats/{first}/tasks")).await, [] as [Value; 0]);

    assert_eq!(site.delete(&format!("/api/chats/{first}")).await.status, 204);
    let refused = site.post(&format!("/api/chats/{first}/messages"), &json!({"content": "hello?"})).await;
    refused.problem(409, "agent-cancelled");
    assert_eq!(roles_and_contents(&list(&site, &format!("/api/chats/{first}/messages")).await).len(), 2);
}

#[tokio::test]
async fn a_plain_agent_is_no_chat_and_an_empty_message_is_refused() {
    let site = site().await;
    let agent = site.make("not a chat").await;
    for path in ["", "/messages", "/tasks", "/sub-agents", "/events"] {
        site.get(&format!("/api/chats/{agent}{path}")).await.problem(404, "not-found");
    }
    site.get(&format!("/api/sub-agents/{agent}")).await.problem(404, "not-found");
    let chat = begin_chat(&site, "hello").await;
    let messages = format!("/api/chats/{chat}/messages");
    site.post(&messages, &json!({"content": " "})).await.problem(422, "invalid-request");
    site.post(&messages, &json!({"text": "hello"})).await.problem(422, "invalid-body");
    assert_eq!(list(&site, &messages).await.len(), 2);
}

#[tokio::test]
async fn a_message_is_listed_at_once_and_keeps_its_id() {
    let site = site().await;
    let chat = begin_chat(&site, "hello").await;
    let path = format!("/api/chats/{chat}/messages");
    let send_it = || async {
        let body = json!({"content": "again"});
        let request = site.request(reqwest::Method::POST, &path).header("Idempotency-Key", "k").json(&body);
        send(request).await.expect(202)
    };
    let taken = send_it().await;
    assert_eq!(send_it().await["id"], taken["id"]);
    let before = list(&site, &path).await;
    assert_eq!(
        (roles_and_contents(&before)[2].clone(), &before[2]["id"]),
        (role_and_content("user", "again"), &taken["id"])
    );
    advance(&site, &chat).await;
    let after = list(&site, &path).await;
    assert_eq!((after.len(), &after[2]["id"]), (4, &taken["id"]));
}

/// A chat whose researcher has asked the user, and the researcher.
async fn chat_with_question(site: &Site) -> (String, String) {
    let chat = begin_chat(site, "do ask").await;
    let (.., id) = task_and_agent_status(site, &chat).await;
    advance(site, &id).await;
    (chat, id)
}

/// The same once the user has answered and the result was reported.
async fn done(site: &Site) -> (String, String) {
    let (chat, id) = chat_with_question(site).await;
    say(site, &chat, &format!("tell {id} red")).await;
    for agent in [&chat, &id, &chat] {
        advance(site, agent).await;
    }
    (chat, id)
}

/// The same once the user has given the researcher more to do, and that result was reported, too.
async fn chat_with_second_result(site: &Site) -> (String, String) {
    let (chat, id) = done(site).await;
    say(site, &chat, &format!("tell {id} hello")).await;
    for agent in [&chat, &id, &chat] {
        advance(site, agent).await;
    }
    (chat, id)
}

/// Shows: S1-R004, S1-R005, S1-R019, S1-R020, S1-R078, S1-R079.
#[tokio::test]
async fn a_task_is_pending_until_its_sub_agent_begins() {
    let site = site().await;
    let chat = begin_chat(&site, "do ask").await;
    let (task, agent, _) = task_and_agent_status(&site, &chat).await;
    assert_eq!((&*task, &*agent), ("pending", "active"), "the orchestrator does not wait for it");
}

/// Shows: S1-R022, S1-R024, S1-R043, S1-R044, S1-R045, S1-R046, S1-R064, S1-R065, S1-R067, S1-R069.
/// Shows: S1-R078, S1-R079, S1-R082.
#[tokio::test]
async fn a_question_appears_in_both_histories_and_its_task_waits() {
    let model = ScriptedModel::new([
        Script::call("spawn_agent", json!({"kind": "researcher", "task": "ask"})),
        Script::call("ask_user", json!({"question": "Which colour?", "options": ["red", "blue"]})),
    ]);
    let store = Arc::new(SqliteStore::in_memory().expect("a store"));
    let engine = asking(Arc::new(model.clone()), store, Kinds::builtin());
    let site = Site::serving(engine, Settings::default()).await;
    let (chat, id) = chat_with_question(&site).await;
    let (task, agent, _) = task_and_agent_status(&site, &chat).await;
    assert_eq!((&*task, &*agent), ("waiting", "waiting_for_user"));
    let messages = list(&site, &format!("/api/sub-agents/{id}/messages")).await;
    let roles: Vec<String> = roles_and_contents(&messages).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    assert!(text(&messages[0]["content"]).contains("You are the Researcher"));
    assert_eq!(
        roles_and_contents(&messages)[1..],
        [role_and_content("user", "ask"), role_and_content("assistant", "Which colour?")]
    );
    let asked = list(&site, &format!("/api/chats/{chat}/messages")).await.pop().unwrap();
    let tasks = list(&site, &format!("/api/chats/{chat}/tasks")).await;
    assert_eq!(tasks[0]["instruction"], "ask");
    assert_eq!(asked["content"], "The Researcher needs more information: Which colour?");
    assert_eq!((&asked["role"], &asked["metadata"]["type"]), (&json!("assistant"), &json!("question")));
    assert_eq!(asked["metadata"]["taskId"], tasks[0]["id"]);
    assert_eq!(asked["metadata"]["subAgentId"], json!(id));
    let question = site.get(&format!("/v1/questions/{}", text(&asked["metadata"]["questionId"]))).await;
    assert_eq!(question.expect(200)["status"], "open");
    advance(&site, &chat).await;
    assert_eq!(
        model.requests().len(),
        2,
        "who decided and who asks; no model is needed to tell of a question"
    );
}

/// Shows: S1-R011, S1-R012, S1-R040, S1-R041, S1-R042, S1-R046, S1-R078, S1-R079.
#[tokio::test]
async fn an_answer_in_the_main_chat_resumes_the_task_to_its_result() {
    let site = site().await;
    let (chat, id) = chat_with_question(&site).await;
    // The sub-agent is active again at once, before it has read the answer.
    say(&site, &chat, &format!("tell {id} red")).await;
    advance(&site, &chat).await;
    let (task, agent, _) = task_and_agent_status(&site, &chat).await;
    assert_eq!((&*task, &*agent), ("running", "active"));
    advance(&site, &id).await;
    let (task, agent, _) = task_and_agent_status(&site, &chat).await;
    assert_eq!((&*task, &*agent), ("success", "completed"));
    let messages = list(&site, &format!("/api/sub-agents/{id}/messages")).await;
    assert_eq!(
        roles_and_contents(&messages)[3..],
        [role_and_content("user", "red"), role_and_content("assistant", "It came back: red")]
    );
    let tasks = list(&site, &format!("/api/chats/{chat}/tasks")).await;
    assert_eq!((&tasks[0]["result"], &tasks[0]["instruction"]), (&json!("It came back: red"), &json!("ask")));

    advance(&site, &chat).await;
    let last = list(&site, &format!("/api/chats/{chat}/messages")).await.pop().unwrap();
    assert_eq!((&last["content"], &last["metadata"]["taskId"]), (&json!("It is done."), &tasks[0]["id"]));
}

/// Shows: S1-R009, S1-R010, S1-R012, S1-R062.
#[tokio::test]
async fn a_reactivated_task_reports_each_result_once() {
    let site = site().await;
    let (chat, id) = done(&site).await;
    let told = async || {
        let messages = list(&site, &format!("/api/chats/{chat}/messages")).await;
        messages.iter().filter(|message| message["content"] == "It is done.").count()
    };
    assert_eq!(told().await, 1);
    // No second task, no second agent.
    say(&site, &chat, &format!("tell {id} hello")).await;
    advance(&site, &chat).await;
    let (task, agent, same) = task_and_agent_status(&site, &chat).await;
    assert_eq!((&*task, &*agent, &same), ("running", "active", &id));
    assert!(list(&site, &format!("/api/chats/{chat}/tasks")).await[0].get("result").is_none());
    advance(&site, &id).await;
    advance(&site, &chat).await;
    assert_eq!(task_and_agent_status(&site, &chat).await.0, "success");
    assert_eq!(
        roles_and_contents(&list(&site, &format!("/api/sub-agents/{id}/messages")).await)[5..],
        [role_and_content("user", "hello"), role_and_content("assistant", "You said: hello")]
    );
    assert_eq!(told().await, 2);
}

#[tokio::test]
async fn pages_of_one_message_cover_the_whole_list() {
    let site = site().await;
    let (chat, id) = chat_with_second_result(&site).await;
    for path in [format!("/api/sub-agents/{id}/messages"), format!("/api/chats/{chat}/messages")] {
        assert_eq!(read_in_pages_of_one(&site, &path).await, list(&site, &path).await);
        site.get(&format!("{path}?cursor=MTphYmM")).await.problem(400, "invalid-cursor");
    }
}

#[tokio::test]
async fn the_update_time_of_a_sub_agent_never_decreases_in_a_resumed_stream() {
    let site = site().await;
    let (chat, id) = done(&site).await;
    let whole = follow(&site, &chat, 0).await.until(is_over).await;
    let numbers = whole.iter().filter_map(|frame| frame.id);
    for after in numbers.take_while(|number| Some(*number) != whole.last().and_then(|last| last.id)) {
        let seen = follow(&site, &chat, after).await.until(is_over).await;
        assert_updates_never_decrease(&seen);
    }
    assert_updates_never_decrease(&whole);
    let read = site.get(&format!("/api/sub-agents/{id}")).await.expect(200);
    assert_eq!(latest(&whole)[&("sub_agent".to_owned(), id)], read);
}

/// Asserts that the last change of a chat's only sub-agent never goes back in a stream.
fn assert_updates_never_decrease(seen: &[Frame]) {
    let of_agent = seen.iter().filter(|frame| frame.event == "sub_agent");
    let changes: Vec<Time> =
        of_agent.map(|frame| serde_json::from_value(frame.data["updatedAt"].clone()).unwrap()).collect();
    assert!(changes.is_sorted(), "{changes:?}");
}

#[tokio::test]
async fn reading_a_task_does_not_read_the_tasks_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entourage.db");
    let engine = engine(Arc::new(SqliteStore::open(&path, Default::default()).unwrap()));
    let client = engine.client(Owner::local());
    let new = NewAgent { kind: Some("orchestrator".into()), ..NewAgent::default() };
    let chat = client.create(new, None).await.unwrap().id;
    for number in 0..3 {
        client.send(chat, &format!("do {number}"), None).await.unwrap();
        engine.advance(chat).await.unwrap();
    }
    let tasks = client.tasks(Some(chat), None, Page::all()).await.unwrap();
    let [first, _, last] = &tasks[..] else { panic!("{} tasks", tasks.len()) };
    drop((client, engine));
    let file = rusqlite::Connection::open(&path).unwrap();
    // The first task cannot be read any more, and the two others fill a page.
    let long = "UPDATE entities SET body = json_set(body, '$.instruction', hex(zeroblob(400000))) \
                WHERE kind = 'task'";
    assert_eq!(file.execute(long, []).unwrap(), 3);
    let unreadable = "UPDATE entities SET body = '{}' WHERE kind = 'task' AND id = ?1";
    assert_eq!(file.execute(unreadable, [first.id.to_string()]).unwrap(), 1);
    drop(file);

    let store = Arc::new(SqliteStore::open(&path, Default::default()).unwrap());
    let site = Site::at_rest(store, Settings::default()).await;
    site.get(&format!("/api/tasks/{}", first.id)).await.problem(500, "internal");
    let task = site.get(&format!("/api/tasks/{}", last.id)).await.expect(200);
    assert_eq!(task["id"], json!(last.id));
    let agent = site.get(&format!("/api/sub-agents/{}", last.to)).await.expect(200);
    assert_eq!(agent["taskId"], json!(last.id));
    // None of these messages is about a task.
    let messages = list(&site, &format!("/api/chats/{chat}/messages")).await;
    assert_eq!(
        roles_and_contents(&messages),
        [0, 1, 2].map(|number| role_and_content("user", &format!("do {number}")))
    );
}

/// Shows: S1-R021, S1-R036, S1-R037, S1-R039, S1-R046, S1-R050, S1-R051, S1-R052, S1-R053, S1-R080.
#[tokio::test]
async fn each_tool_call_is_a_document_of_its_own() {
    let site = site().await;
    let chat = begin_chat(&site, "do note").await;
    let (.., id) = task_and_agent_status(&site, &chat).await;
    advance(&site, &id).await;
    let calls = list(&site, &format!("/api/sub-agents/{id}/tool-calls")).await;
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((&call["name"], &call["status"]), (&json!("create_note"), &json!("success")));
    assert_eq!((&call["arguments"]["title"], &call["subAgentId"]), (&json!("Found"), &json!(id)));
    let messages = list(&site, &format!("/api/sub-agents/{id}/messages")).await;
    let roles: Vec<String> = roles_and_contents(&messages).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant"]);
    assert_eq!(messages[2]["tool_calls"][0]["id"], call["id"]);
    assert_eq!(messages[2]["tool_calls"][0]["function"]["name"], "create_note");
    assert_eq!((&messages[3]["tool_call_id"], &messages[3]["content"]), (&call["id"], &call["result"]));
    assert!(messages[4].get("tool_calls").is_none());

    assert_eq!(read_in_pages_of_one(&site, &format!("/api/sub-agents/{id}/tool-calls")).await, calls);

    // The stream shows the history: first the call was pending and its sub-agent at work.
    let is_done = |frame: &Frame| frame.event == "task" && frame.data["status"] == "success";
    let told = follow(&site, &chat, 0).await.until(is_done).await;
    assert_eq!(statuses(&told, "tool_call"), ["pending", "success"]);
    // The last document equals what is read, to the microsecond.
    assert_eq!(latest(&told)[&("tool_call".to_owned(), text(&call["id"]))], *call);
    assert_eq!(statuses(&told, "task"), ["pending", "running", "success"]);
    // The sub-agent is sent when it is created, with its task, when it begins to work, and when it ends.
    assert_eq!(statuses(&told, "sub_agent"), ["active", "active", "active", "completed"]);
}

/// Shows: S1-R081.
#[tokio::test]
async fn sub_agent_collections_and_message_roles_follow_the_design() {
    let site = site().await;
    let description = site.get("/openapi.json").await.expect(200);
    for (path, collection) in [
        ("/api/sub-agents/{id}/messages", "`sub_agent_messages`"),
        ("/api/sub-agents/{id}/tool-calls", "`sub_agent_tool_calls`"),
    ] {
        let summary = text(&description["paths"][path]["get"]["summary"]);
        assert!(summary.contains(collection), "{summary}");
    }
    let mut roles: Vec<String> = Vec::new();
    for task in ["note", "ask"] {
        let chat = begin_chat(&site, &format!("do {task}")).await;
        let (.., id) = task_and_agent_status(&site, &chat).await;
        advance(&site, &id).await;
        let messages = list(&site, &format!("/api/sub-agents/{id}/messages")).await;
        roles.extend(roles_and_contents(&messages).into_iter().map(|(role, _)| role));
    }
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "system", "user", "assistant"]);
    let known = &description["components"]["schemas"]["SubAgentRole"]["enum"];
    assert_eq!(*known, json!(["system", "user", "assistant", "tool"]), "and there is no other");
}

/// Shows: S1-R036, S1-R051, S1-R054, S1-R055, S1-R080.
#[tokio::test]
async fn a_failed_tool_call_gets_an_output_and_the_sub_agent_continues() {
    let site = site().await;
    let chat = begin_chat(&site, "do strange").await;
    let (.., id) = task_and_agent_status(&site, &chat).await;
    advance(&site, &id).await;
    let calls = list(&site, &format!("/api/sub-agents/{id}/tool-calls")).await;
    let messages = list(&site, &format!("/api/sub-agents/{id}/messages")).await;
    assert_eq!((calls.len(), messages.len()), (2, 6));
    for (call, message) in calls.iter().zip(&messages[3..]) {
        assert_eq!((&call["status"], &message["role"]), (&json!("failed"), &json!("tool")));
        assert_eq!((&message["tool_call_id"], &message["content"]), (&call["id"], &call["error"]));
    }
    assert!(text(&calls[0]["error"]).contains("there is no tool `no_such_tool`"), "{calls:?}");
    // Each of the two was pending at first.
    let is_done = |frame: &Frame| frame.event == "task" && frame.data["status"] == "success";
    let told = follow(&site, &chat, 0).await.until(is_done).await;
    for call in &calls {
        let of_call = |frame: &&Frame| frame.event == "tool_call" && frame.data["id"] == call["id"];
        let statuses: Vec<String> =
            told.iter().filter(of_call).map(|frame| text(&frame.data["status"])).collect();
        assert_eq!(statuses, ["pending", "failed"], "{call}");
    }
    assert_eq!(task_and_agent_status(&site, &chat).await.0, "success");
}

/// Shows: S1-R068, S1-R071, S1-R072, S1-R074, S1-R078, S1-R079.
#[tokio::test]
async fn a_failure_appears_in_the_main_chat_and_in_the_sub_agents_history() {
    let site = site().await;
    let chat = begin_chat(&site, "do break it").await;
    let (.., id) = task_and_agent_status(&site, &chat).await;
    advance(&site, &id).await;
    let (task, agent, _) = task_and_agent_status(&site, &chat).await;
    assert_eq!((&*task, &*agent), ("failed", "failed"));
    let tasks = list(&site, &format!("/api/chats/{chat}/tasks")).await;
    let failed = "the service behind the model refused the request; the operator finds the cause in the log";
    assert_eq!(tasks[0]["error"], failed, "what a provider says is not for the user");
    assert!(tasks[0].get("result").is_none());
    let last = list(&site, &format!("/api/sub-agents/{id}/messages")).await.pop().unwrap();
    assert_eq!((&last["role"], &last["content"]), (&json!("system"), &json!(failed)));
    advance(&site, &chat).await;
    let messages = list(&site, &format!("/api/chats/{chat}/messages")).await;
    let told = format!("The Researcher could not finish its task: {failed}");
    assert_eq!(
        roles_and_contents(&messages),
        [role_and_content("user", "do break it"), role_and_content("assistant", &told)]
    );
    assert_eq!(messages[1]["metadata"]["type"], "error");
    assert_eq!(messages[1]["metadata"]["taskId"], tasks[0]["id"]);

    // When retried, the task is under way until it has failed again.
    let retry = format!("/v1/agents/{id}/interventions");
    site.post(&retry, &json!({"action": "retry"})).await.expect(202);
    advance(&site, &id).await;
    let task = list(&site, &format!("/api/chats/{chat}/tasks")).await.remove(0);
    let seen = follow(&site, &chat, 0).await.until(|frame| frame.data == task).await;
    assert_eq!(
        statuses(&seen, "task"),
        ["pending", "running", "failed", "failed", "running", "running", "failed"]
    );
    assert_eq!(task_and_agent_status(&site, &chat).await.0, "failed");
    advance(&site, &chat).await;

    // The orchestrator's own model fails: one message says so.
    say(&site, &chat, "break").await;
    advance(&site, &chat).await;
    let last = list(&site, &format!("/api/chats/{chat}/messages")).await.pop().unwrap();
    assert_eq!((&last["role"], &last["metadata"]["type"]), (&json!("assistant"), &json!("error")));
}

/// A researcher has another one below it, which asks.
#[tokio::test]
async fn a_question_of_a_nested_sub_agent_refers_to_the_orchestrators_task() {
    const RESEARCHER: &str =
        "---\nname: researcher\npeers: [researcher]\ntools: [send_message, ask_user]\n---\nDig.";
    let kinds = Kinds::builtin().with(parse("researcher.md", RESEARCHER).0.unwrap());
    let site = Site::of_kinds(kinds).await;
    let chat = text(&site.post("/api/chats", &json!({"message": "do tell ask"})).await.expect(201)["id"]);
    let is_asked = |frame: &Frame| frame.event == "task" && frame.data["status"] == "waiting";
    let seen = follow(&site, &chat, 0).await.until(is_asked).await;
    let asked = seen.iter().rfind(|frame| frame.event == "message").expect("the question");
    let below = list(&site, &format!("/api/chats/{chat}/sub-agents")).await;
    let [own, deeper] = &below[..] else { panic!("{below:?}") };
    assert_eq!((&own["parentId"], &deeper["parentId"]), (&json!(chat), &own["id"]));
    let metadata = &asked.data["metadata"];
    assert_eq!((&metadata["taskId"], &metadata["subAgentId"]), (&own["taskId"], &own["id"]));
    assert_eq!([&own["status"], &deeper["status"]], ["waiting_for_user", "waiting_for_user"]);

    // A message for the orchestrator's own sub-agent reaches the agent that asked.
    say(&site, &chat, &format!("tell {} red", text(&own["id"]))).await;
    follow(&site, &chat, 0).await.until(is_over).await;
    let question = site.get(&format!("/v1/questions/{}", text(&metadata["questionId"]))).await.expect(200);
    assert_eq!((&question["status"], &question["answer"]), (&json!("answered"), &json!("red")));
}

async fn follow(site: &Site, chat: &str, after: u64) -> Stream {
    let path = format!("/api/chats/{chat}/events?after={after}");
    Stream::open(site.request(reqwest::Method::GET, &path)).await
}

/// The last version of each document in a stream.
fn latest(frames: &[Frame]) -> BTreeMap<(String, String), Value> {
    let documents = frames.iter().filter(|frame| frame.event != "delta");
    documents.map(|frame| ((frame.event.clone(), text(&frame.data["id"])), frame.data.clone())).collect()
}

/// The status of each document of this type, each time it was sent: a sub-agent and its task are sent with
/// every change of either.
fn statuses(frames: &[Frame], sort: &str) -> Vec<String> {
    let of_sort = frames.iter().filter(|frame| frame.event == sort);
    of_sort.map(|frame| text(&frame.data["status"])).collect()
}

fn is_over(frame: &Frame) -> bool {
    frame.event == "message" && frame.data["content"] == "It is done."
}

/// Shows: S1-R048.
#[tokio::test]
async fn a_chat_stream_sends_changed_documents_and_resumes_at_any_number() {
    let site = Site::open().await;
    let chat = site.post("/api/chats", &json!({"message": "do note and ask"})).await.expect(201);
    let chat = text(&chat["id"]);
    let asks = |frame: &Frame| frame.event == "message" && frame.data["metadata"]["type"] == "question";
    let seen = follow(&site, &chat, 0).await.until(asks).await;
    let id = seen.iter().find(|frame| frame.event == "sub_agent").expect("a sub-agent").data["id"].clone();
    say(&site, &chat, &format!("tell {} red", text(&id))).await;
    let whole = follow(&site, &chat, 0).await.until(is_over).await;

    // From the question on, each change is sent twice: for the question or the task, and for its agent.
    let went = ["pending", "running", "waiting", "waiting", "running", "running", "success", "success"];
    assert_eq!(statuses(&whole, "task"), went);
    let twice = ["waiting_for_user", "active", "completed"].map(|status| [status; 2]).concat();
    let went = [vec!["active"; 3], twice].concat();
    assert_eq!(statuses(&whole, "sub_agent"), went);
    let messages: Vec<&Frame> = whole.iter().filter(|frame| frame.event == "message").collect();
    let words: Vec<String> = messages.iter().map(|frame| text(&frame.data["content"])).collect();
    let asked = "The Researcher needs more information: Which colour?";
    assert_eq!((&*words[0], &*words[1], words.len()), ("do note and ask", asked, 4));

    // The question and the status of the agent that asks are one change, under one number.
    let at = whole.iter().position(asks).expect("the question");
    let change: Vec<(&str, Option<&str>)> =
        whole[at..at + 3].iter().map(|frame| (&*frame.event, frame.data["status"].as_str())).collect();
    let waits = [("sub_agent", Some("waiting_for_user")), ("task", Some("waiting"))];
    assert_eq!((change[0], &change[1..]), (("message", None), &waits[..]));
    assert_eq!((whole[at].id, whole[at + 1].id, whole[at + 2].id.is_some()), (None, None, true));

    // The last version sent is the one that is read.
    let told = latest(&whole);
    for message in list(&site, &format!("/api/chats/{chat}/messages")).await {
        assert_eq!(told[&("message".to_owned(), text(&message["id"]))]["metadata"], message["metadata"]);
    }
    let task = &list(&site, &format!("/api/chats/{chat}/tasks")).await[0];
    assert_eq!(told[&("task".to_owned(), text(&task["id"]))], *task);

    // A client that resumes at any number gets everything after it, with the same end.
    let numbers: Vec<u64> = whole.iter().filter_map(|frame| frame.id).collect();
    for after in numbers.iter().take(numbers.len() - 1) {
        let rest = follow(&site, &chat, *after).await.until(is_over).await;
        let expected: Vec<u64> = numbers.iter().copied().filter(|number| number > after).collect();
        assert_eq!(rest.iter().filter_map(|frame| frame.id).collect::<Vec<_>>(), expected);
        for (document, last) in latest(&rest) {
            assert_eq!(last, told[&document], "after {after}");
        }
    }
}

/// Passes texts that contain `please`.
struct Polite;

#[async_trait]
impl Guardrail for Polite {
    async fn check(&self, checked: &GuardrailInput) -> Result<(), String> {
        if checked.text.contains("please") { Ok(()) } else { Err("it must say please".into()) }
    }
}

#[tokio::test]
async fn an_answer_that_a_guardrail_rejects_is_withdrawn() {
    const ORCHESTRATOR: &str =
        "---\nname: orchestrator\nprogram: orchestrate\nguardrails: { output: [polite] }\n---\nAnswer.";
    let kinds = Kinds::none().with(parse("orchestrator.md", ORCHESTRATOR).0.unwrap());
    let model = ScriptedModel::new([Script::text("Here."), Script::text("Here, please.")]);
    let engine = Engine::builder(Arc::new(SqliteStore::in_memory().unwrap()), Arc::new(model));
    let engine = engine.kinds(kinds).guardrail("polite", Arc::new(Polite)).build();
    let site = Site::serving(engine, Settings::default()).await;
    let chat = begin_chat(&site, "hello").await;
    let is_last = |frame: &Frame| frame.data["content"] == "Here, please.";
    let seen = follow(&site, &chat, 0).await.until(is_last).await;
    let messages: Vec<&Value> =
        seen.iter().filter(|frame| frame.event == "message").map(|frame| &frame.data).collect();
    let [_, told, taken_back, _] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!((&told["content"], &told["id"]), (&json!("Here."), &taken_back["id"]));
    assert_eq!((&taken_back["content"], &taken_back["metadata"]["type"]), (&json!(""), &json!("refused")));
    let there = list(&site, &format!("/api/chats/{chat}/messages")).await;
    assert_eq!(
        roles_and_contents(&there),
        [role_and_content("user", "hello"), role_and_content("assistant", "Here, please.")]
    );
}

#[tokio::test]
async fn deltas_precede_their_message_and_carry_its_id() {
    let site = Site::open().await;
    let chat = text(&site.post("/api/chats", &json!({"title": "Quiet"})).await.expect(201)["id"]);
    let mut stream = follow(&site, &chat, 0).await;
    stream.until_caught_up().await;
    say(&site, &chat, "hello").await;
    let seen = stream.until(|frame| frame.event == "message" && frame.data["role"] == "assistant").await;
    let (message, pieces) = (seen.last().unwrap(), seen.iter().filter(|frame| frame.event == "delta"));
    let pieces: Vec<&Frame> = pieces.collect();
    assert!(pieces.iter().all(|piece| piece.data["messageId"] == message.data["id"] && piece.id.is_none()));
    let joined: String = pieces.iter().map(|piece| text(&piece.data["text"])).collect();
    assert_eq!(message.data["content"], joined);
}
