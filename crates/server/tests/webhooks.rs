//! Webhooks to the server: signed by a known sender, with a current time, about the sender's own data.
//! However often and in whatever order they arrive, the engine ends in the same state.

use std::{
    collections::BTreeMap,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use entourage_engine::{Client, Engine, Kinds, NewAgent, Page, kinds::parse};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_server::{Settings, WebhookSender};
use entourage_store::{Commit, Committed, Layered, Store, StoreLayer, Write};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::quiet;
use entourage_tools::{Caller, Context, Effect, Outcome, Tool};
use entourage_types::{
    Agent, AgentId, Answer as Said, Author, Delivery, DeliveryId, DeliveryStatus, ItemBody, Owner, Question,
    QuestionStatus, Scope, Status, Task, TaskResult, Time, ToolSpec,
};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::site::{Answer, Site, send};

pub(crate) const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";
const OTHER: &[u8] = b"another key of thirty-two bytes!";
const ROUTES: [&str; 6] = [
    "orchestrator",
    "agent-init",
    "agent-loop",
    "tool-runner",
    "orchestrator-finalize",
    "orchestrator-notify",
];

fn secret(key: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(key))
}

fn sender(key: &[u8], owner: &str) -> WebhookSender {
    WebhookSender { secret: secret(key).into(), owner: Owner::new(owner) }
}

pub(crate) fn settings() -> Settings {
    let senders = [("database", sender(KEY, "local")), ("elsewhere", sender(OTHER, "eve"))];
    let webhooks = senders.into_iter().map(|(name, sender)| (name.to_owned(), sender)).collect();
    Settings { webhooks, ..Settings::default() }
}

fn now() -> i64 {
    Time::now().micros() / 1_000_000
}

fn signature(key: &[u8], id: &str, at: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

fn request(site: &Site, route: &str, id: &str, at: i64, signature: &str, body: &str) -> RequestBuilder {
    site.request(Method::POST, &format!("/webhook/{route}"))
        .header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", at)
        .header("webhook-signature", signature)
        .body(body.to_owned())
}

/// Sends a valid webhook with an id of its own.
pub(crate) async fn tell_as(site: &Site, key: &[u8], route: &str, document: &Value) -> Answer {
    let (id, at, body) = (format!("msg_{}", AgentId::new()), now(), document.to_string());
    send(request(site, route, &id, at, &signature(key, &id, at, &body), &body)).await
}

async fn tell(site: &Site, route: &str, document: &Value) -> Value {
    tell_as(site, KEY, route, document).await.expect(200)
}

/// An orchestrator starts a researcher, which writes a note, asks, and answers.
fn scripted_reply(request: &Request) -> Script {
    let orchestrator = request.system.contains("You are the Orchestrator");
    match (orchestrator, request.messages.last()) {
        (true, Some(Message::Notice(text))) if text.starts_with("<task_result") => {
            Script::text("It is found.")
        }
        (true, Some(Message::User(text))) if text == "thanks" => Script::text("You are welcome."),
        (true, Some(Message::User(text))) => {
            Script::call("spawn_agent", json!({"kind": "researcher", "task": text}))
        }
        (false, Some(Message::User(text))) if text == "and quickly" => Script::text("the red one"),
        (false, Some(Message::User(_))) => Script::call("create_note", json!({"title": "t", "content": "c"})),
        (false, Some(Message::Output { tool, .. })) if tool == "create_note" => {
            Script::call("ask_user", json!({"question": "Which?"}))
        }
        (false, Some(Message::Output { text, .. })) => Script::text(format!("the {text} one")),
        (_, other) => Script::text(format!("unexpected {other:?}")),
    }
}

async fn open() -> Site {
    let site = at_rest_over(Arc::new(SqliteStore::in_memory().unwrap())).await;
    site.work();
    site
}

/// The same over this store, with agents that do not work until the dispatcher starts.
async fn at_rest_over(store: Arc<dyn Store>) -> Site {
    let model = ScriptedModel::deciding(|request| Some(Ok(scripted_reply(request))));
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let kinds = quiet(Kinds::builtin());
    Site::serving(Engine::builder(store, Arc::new(model)).tools(tools).kinds(kinds).build(), settings()).await
}

/// The agents that have a wake-up, now or later.
async fn woken(site: &Site) -> Vec<AgentId> {
    let due = site.engine.store().due(Time::from_micros(i64::MAX), None, 100).await.unwrap();
    due.into_iter().map(|wakeup| wakeup.agent).collect()
}

/// Removes the wake-ups by which an agent would continue by itself: from here on, only a webhook can wake it.
async fn remove_wakeups(site: &Site, agent: AgentId) {
    let store = site.engine.store();
    let due = store.due(Time::from_micros(i64::MAX), None, 100).await.unwrap();
    let own = due.into_iter().filter(|wakeup| wakeup.agent == agent);
    // Only an activation may consume wake-ups.
    let claimed = store.claim(agent, u64::MAX).await.unwrap().expect("there is such an agent");
    let mut commit = Commit::fenced(&claimed.agent, Time::now());
    commit.writes.extend(own.map(|wakeup| Write::ConsumeWakeup(wakeup.id)));
    assert!(!commit.writes.is_empty(), "it would have gone on by itself");
    store.commit(commit).await.unwrap();
    assert!(!woken(site).await.contains(&agent));
}

async fn chat(site: &Site) -> Agent {
    let new = NewAgent { kind: Some("orchestrator".into()), ..NewAgent::default() };
    site.client().create(new, None).await.unwrap()
}

/// Waits until `look` returns something.
async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), found).await.unwrap_or_else(|_| panic!("never: {what}"))
}

async fn wait_for_question(site: &Site, chat: AgentId) -> Question {
    until("a question", async || {
        let open = Some(QuestionStatus::Open);
        site.client().questions(Some(chat), open, Page::default()).await.unwrap().pop()
    })
    .await
}

/// Waits until no agent of the tree has anything to do.
async fn wait_until_idle(site: &Site, chat: AgentId) {
    until("all at rest", async || {
        let due = site.engine.store().due(Time::now(), None, 1).await.unwrap();
        let tree = site.client().tree(chat).await.unwrap();
        let idle = |agent: &Agent| !matches!(agent.status, Status::Running | Status::Queued);
        (due.is_empty() && tree.iter().all(idle)).then_some(())
    })
    .await;
}

async fn transcript_lines(site: &Site, chat: AgentId) -> Vec<String> {
    let entries = site.client().transcript(chat).await.unwrap();
    entries.into_iter().map(|entry| format!("{:?}: {}", entry.role, entry.text)).collect()
}

/// The final state of a tree, without ids and times.
async fn state(site: &Site, chat: AgentId) -> Vec<String> {
    wait_until_idle(site, chat).await;
    let client = site.client();
    let mut lines = transcript_lines(site, chat).await;
    for agent in client.tree(chat).await.unwrap() {
        lines.push(format!("{} {}", agent.kind, agent.status));
        for item in client.items(agent.id, 0, u32::MAX).await.unwrap().iter() {
            lines.push(match &item.body {
                ItemBody::Message(message) => format!("message: {} chars", message.text.len()),
                ItemBody::Turn(turn) => format!("turn: {} {} calls", turn.text, turn.calls.len()),
                ItemBody::Output(output) => format!("output: {} {}", output.tool, output.error),
                // It names agents and tasks by their ids.
                ItemBody::Context(context) => format!("context: {} entries", context.entries.len()),
                other => format!("{other:?}"),
            });
        }
        for run in client.runs(agent.id, Page::default()).await.unwrap() {
            lines.push(format!("run {} {} model calls", run.status, run.model_calls));
        }
    }
    let tasks = client.tasks(Some(chat), None, Page::default()).await.unwrap();
    lines.extend(tasks.iter().map(|task| format!("task {} {:?}", task.status, task.result)));
    lines.push(format!("{} notes", client.notes(Some(chat), Page::default()).await.unwrap().len()));
    lines
}

/// Every document for which a database with this tree in it would have sent a webhook, with its route.
async fn documents(client: &Client, chat: AgentId) -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    for agent in client.tree(chat).await.unwrap() {
        for item in client.items(agent.id, 0, u32::MAX).await.unwrap().iter() {
            let id = format!("{}.{}", agent.id, item.seq);
            let (role, calls) = match &item.body {
                ItemBody::Message(message) => {
                    (if message.from == Author::User { "user" } else { "tool" }, &[][..])
                }
                ItemBody::Turn(turn) => ("assistant", &turn.calls[..]),
                ItemBody::Output(_) => ("tool", &[][..]),
                _ => ("system", &[][..]),
            };
            for call in calls {
                let call = json!({"id": call.id, "subAgentId": agent.id, "status": "pending"});
                all.push(("tool-runner", call));
            }
            if agent.id == chat {
                let message = json!({"id": id, "chatId": chat, "role": role, "content": "as it was"});
                all.push(("orchestrator", message));
            } else {
                let message = json!({"id": id, "subAgentId": agent.id, "role": role, "content": "as it was"});
                all.push(("agent-loop", message));
            }
        }
    }
    for Task { id, .. } in client.tasks(Some(chat), None, Page::default()).await.unwrap() {
        all.push(("agent-init", json!({"id": id, "type": "agent", "name": "agent:researcher"})));
        all.push(("orchestrator-notify", json!({"id": id, "status": "waiting"})));
        all.push(("orchestrator-finalize", json!({"id": id, "status": "success"})));
    }
    all
}

/// Sends every possible webhook twice, in another order each time.
async fn send_every_webhook_twice(site: &Site, chat: AgentId, turn: usize) {
    let mut all = documents(&site.client(), chat).await;
    all.extend(all.clone());
    let length = all.len();
    // Steps of a prime that does not divide the length visit every document.
    let step = [7, 11, 13, 17].into_iter().find(|step| length % step != 0).unwrap();
    for nth in 0..length {
        let (route, document) = &all[(nth * step + turn) % length];
        tell(site, route, document).await;
    }
}

/// Shows: S1-R001, S1-R026, S1-R027, S1-R056.
#[tokio::test]
async fn repeated_reordered_and_late_webhooks_do_not_change_the_outcome() {
    let mut outcomes = Vec::new();
    for disturbed in [false, true] {
        let site = open().await;
        let chat = chat(&site).await.id;
        let message = json!({"id": "6560f0c2", "chatId": chat, "role": "user", "content": "find it"});
        if disturbed {
            let first = tell(&site, "orchestrator", &message).await;
            assert_eq!(first["outcome"], "posted");
            assert_eq!(tell(&site, "orchestrator", &message).await, first, "it was taken once");
        } else {
            site.client().send(chat, "find it", None).await.unwrap();
        }
        let question = wait_for_question(&site, chat).await;
        if disturbed {
            send_every_webhook_twice(&site, chat, 0).await;
        }
        site.client().answer(question.id, Said::Text("red".into())).await.unwrap();
        let answered = async || {
            transcript_lines(&site, chat).await.iter().any(|line| line.contains("It is found.")).then_some(())
        };
        until("a reply", answered).await;
        if disturbed {
            send_every_webhook_twice(&site, chat, 1).await;
            tell(&site, "orchestrator", &message).await;
        }
        site.client().send(chat, "thanks", None).await.unwrap();
        let thanked = async || {
            transcript_lines(&site, chat).await.iter().any(|line| line.contains("welcome")).then_some(())
        };
        until("thanks", thanked).await;
        if disturbed {
            send_every_webhook_twice(&site, chat, 2).await;
        }
        outcomes.push(state(&site, chat).await);
    }
    assert_eq!(outcomes[0], outcomes[1]);
    assert!(outcomes[0].iter().any(|line| line == "1 notes") && outcomes[0].len() > 15, "{:#?}", outcomes[0]);
}

/// The chat with its task, once the orchestrator has decided and no other agent has done anything.
async fn chat_with_new_task(site: &Site) -> (AgentId, Task) {
    let chat = chat(site).await.id;
    site.client().send(chat, "find it", None).await.unwrap();
    site.engine.advance(chat).await.unwrap();
    let task = site.client().tasks(Some(chat), None, Page::default()).await.unwrap().remove(0);
    (chat, task)
}

/// Shows: S1-R017.
#[tokio::test]
async fn the_agent_init_webhook_of_a_new_task_wakes_its_sub_agent() {
    let site = at_rest_over(Arc::new(SqliteStore::in_memory().unwrap())).await;
    let (chat, task) = chat_with_new_task(&site).await;
    remove_wakeups(&site, task.to).await;
    let document = json!({"id": task.id, "type": "agent", "name": "agent:researcher"});
    let outcome = tell(&site, "agent-init", &document).await;
    assert_eq!(outcome, json!({"outcome": "woken", "agent": task.to}));
    assert_eq!(woken(&site).await, [task.to]);
    site.work();
    let question = wait_for_question(&site, chat).await;
    assert_eq!((question.agent, question.task), (task.to, Some(task.id)), "it is at work");
}

/// A tool with an effect, so that its call is on record before it begins.
struct Pay;

#[async_trait]
impl Tool for Pay {
    fn name(&self) -> &'static str {
        "pay"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object"});
        Some(ToolSpec::new("pay", "Pays.", parameters))
    }

    fn effect(&self) -> Effect {
        Effect::Idempotent
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, entourage_tools::Error> {
        Ok(Outcome::text("paid"))
    }
}

/// Loses the first output, as if the process had died while the tool worked.
#[derive(Default)]
struct LosesOutput(AtomicBool);

#[async_trait]
impl StoreLayer for LosesOutput {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> entourage_store::Result<Committed> {
        let is_output = |write: &Write| {
            matches!(write, Write::Item(item)
                if matches!(&item.body, ItemBody::Output(output) if output.tool == "pay"))
        };
        if commit.writes.iter().any(is_output) && !self.0.swap(true, Ordering::SeqCst) {
            return Err(entourage_store::Error::Closed);
        }
        store.commit(commit).await
    }
}

/// Shows: S1-R049.
#[tokio::test]
async fn the_tool_runner_webhook_of_a_pending_call_wakes_its_agent() {
    const PAYER: &str = "---\nname: researcher\ntools: [pay]\n---\nPay.";
    let model = ScriptedModel::deciding(|request| {
        let pays = !request.system.contains("You are the Orchestrator");
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) if pays => Script::call("pay", json!({})),
            Some(Message::Output { text, .. }) if pays => Script::text(text),
            _ => scripted_reply(request),
        }))
    });
    let store = Layered::new(Arc::new(SqliteStore::in_memory().unwrap()), LosesOutput::default());
    let tools = entourage_tools::builtin(entourage_tools::Settings::default()).with(Pay);
    let kinds = Kinds::builtin().with(parse("researcher.md", PAYER).0.unwrap());
    let engine = Engine::builder(Arc::new(store), Arc::new(model)).tools(tools).kinds(kinds);
    let site = Site::serving(engine.build(), settings()).await;
    let (chat, task) = chat_with_new_task(&site).await;
    site.engine.advance(task.to).await.expect_err("the process dies");
    let calls = async || {
        let path = format!("/api/sub-agents/{}/tool-calls", task.to);
        site.get(&path).await.expect(200)["data"].as_array().unwrap().clone()
    };
    let pending = calls().await;
    let [call] = &pending[..] else { panic!("{pending:?}") };
    assert_eq!((&call["name"], &call["status"]), (&json!("pay"), &json!("pending")));
    remove_wakeups(&site, task.to).await;
    let document = json!({"id": call["id"], "subAgentId": task.to, "status": "pending"});
    let outcome = tell(&site, "tool-runner", &document).await;
    assert_eq!(outcome, json!({"outcome": "woken", "agent": task.to}));
    assert_eq!(woken(&site).await, [task.to]);
    site.work();
    let done = async || {
        transcript_lines(&site, chat).await.iter().any(|line| line.contains("It is found.")).then_some(())
    };
    until("a result", done).await;
    let after = calls().await;
    assert_eq!(after.len(), 1, "{after:?}");
    assert_eq!(
        (&after[0]["id"], &after[0]["status"], &after[0]["result"]),
        (&call["id"], &json!("success"), &json!("paid"))
    );
}

/// Shows: S1-R058.
#[tokio::test]
async fn the_finalize_webhook_of_a_succeeded_task_wakes_the_orchestrator() {
    let site = at_rest_over(Arc::new(SqliteStore::in_memory().unwrap())).await;
    let (chat, task) = chat_with_new_task(&site).await;
    site.engine.advance(task.to).await.unwrap();
    let question = wait_for_question(&site, chat).await;
    site.client().answer(question.id, Said::Text("red".into())).await.unwrap();
    site.engine.advance(task.to).await.unwrap();
    assert_eq!(site.client().task(task.id).await.unwrap().status, Status::Succeeded);
    remove_wakeups(&site, chat).await;
    let outcome = tell(&site, "orchestrator-finalize", &json!({"id": task.id, "status": "success"})).await;
    assert_eq!(outcome, json!({"outcome": "woken", "agent": chat}));
    assert_eq!(woken(&site).await, [chat]);
    let replies = async || {
        transcript_lines(&site, chat).await.iter().filter(|line| line.contains("It is found.")).count()
    };
    assert_eq!(replies().await, 0);
    site.work();
    until("a reply", async || (replies().await == 1).then_some(())).await;
}

/// Shows: S1-R001, S1-R018, S1-R027, S1-R028, S1-R056, S1-R063.
#[tokio::test]
async fn each_webhook_response_reports_its_outcome() {
    let site = open().await;
    let chat = chat(&site).await.id;
    let message = json!({"id": "m1", "chatId": chat, "role": "user", "content": "find it"});
    assert_eq!(tell(&site, "orchestrator", &message).await["outcome"], "posted");
    let question = wait_for_question(&site, chat).await;
    wait_until_idle(&site, chat).await;
    let (agent, task) = (question.agent, question.task.unwrap());

    // The message to the user; then there is nothing else to do for now.
    let notified = tell(&site, "orchestrator-notify", &json!({"id": task, "status": "waiting"})).await;
    let told = json!([{
        "id": question.id, "chatId": chat, "role": "assistant", "createdAt": question.created,
        "content": "The Researcher needs more information: Which?",
        "metadata": {
            "taskId": task, "subAgentId": agent, "questionId": question.id, "type": "question",
        },
    }]);
    assert_eq!(notified, json!({"outcome": "notified", "notifications": told}));
    let ignored = async |route: &str, document: Value, why: &str| {
        let outcome = tell(&site, route, &document).await;
        assert_eq!(outcome["outcome"], "ignored", "{route} {document}");
        assert!(outcome["reason"].as_str().unwrap().contains(why), "{outcome}");
    };
    let before = site.client().tree(chat).await.unwrap();
    for id in [json!("t1"), json!(task)] {
        ignored("agent-init", json!({"id": id, "type": "email", "name": "n"}), "type `email`").await;
    }
    assert_eq!(site.client().tree(chat).await.unwrap(), before, "no sub-agent is made or moved");
    // Documents that another program keeps besides those of the engine.
    let theirs = "not one of this server";
    ignored("agent-init", json!({"id": "65a1", "type": "agent", "name": "n"}), theirs).await;
    ignored("agent-loop", json!({"id": "m", "subAgentId": "65a1", "role": "user", "content": "x"}), theirs)
        .await;
    ignored("orchestrator", json!({"id": "m", "chatId": "65a1", "role": "user", "content": "x"}), theirs)
        .await;
    ignored("tool-runner", json!({"id": "65a1", "subAgentId": agent, "status": "pending"}), theirs).await;
    ignored("orchestrator-finalize", json!({"id": "65a1", "status": "success"}), theirs).await;
    ignored("orchestrator-notify", json!({"id": "65a1", "status": "waiting"}), theirs).await;
    // They are ignored whatever types their fields have.
    ignored("agent-init", json!({"id": 7, "type": "agent"}), theirs).await;
    for (id, content) in [(json!(7), Value::Null), (Value::Null, json!([{"type": "text", "text": "x"}]))] {
        let document = json!({"id": id, "chatId": id, "role": "user", "content": content});
        ignored("orchestrator", document, theirs).await;
        let document = json!({"id": id, "subAgentId": id, "role": "user", "content": content});
        ignored("agent-loop", document, theirs).await;
    }
    ignored("tool-runner", json!({"id": 7, "subAgentId": 8}), theirs).await;
    ignored("orchestrator-finalize", json!({"id": 7}), theirs).await;
    ignored("orchestrator-notify", json!({"id": 7, "status": null}), theirs).await;
    for role in ["assistant", "system"] {
        let document = json!({"id": "x", "subAgentId": agent, "role": role, "content": "c"});
        ignored("agent-loop", document, "starts nothing").await;
    }
    ignored("orchestrator", json!({"id": "x", "chatId": chat, "role": "assistant"}), "no decision").await;
    let call =
        |id: entourage_types::CallId, status: &str| json!({"id": id, "subAgentId": agent, "status": status});
    ignored("tool-runner", call(question.call, "success"), "not carried out").await;
    ignored("tool-runner", call(entourage_types::CallId::new(), "pending"), "not pending any more").await;
    ignored("orchestrator-finalize", json!({"id": task, "status": "running"}), "no result").await;
    ignored("orchestrator-finalize", json!({"id": task, "status": "success"}), "queued now").await;
    let woken = json!({"outcome": "woken", "agent": agent});
    assert_eq!(tell(&site, "agent-init", &json!({"id": task, "type": "agent", "name": "n"})).await, woken);
    assert_eq!(tell(&site, "tool-runner", &call(question.call, "pending")).await, woken);
    let told = json!({"id": format!("{agent}.3"), "subAgentId": agent, "role": "tool"});
    assert_eq!(tell(&site, "agent-loop", &told).await, woken);

    // A message that a database delivers to a sub-agent that waits for the user is the answer.
    let more = json!({"id": "m2", "subAgentId": agent, "role": "user", "content": "red"});
    assert_eq!(tell(&site, "agent-loop", &more).await["outcome"], "posted");
    assert_eq!(tell(&site, "agent-loop", &more).await["outcome"], "posted");
    let done = async || {
        transcript_lines(&site, chat).await.iter().any(|line| line.contains("It is found.")).then_some(())
    };
    until("a reply", done).await;
    wait_until_idle(&site, chat).await;
    ignored("orchestrator-notify", json!({"id": task, "status": "waiting"}), "any more").await;
    ignored("orchestrator-finalize", json!({"id": task, "status": "success"}), "nothing to do").await;
    ignored("tool-runner", call(question.call, "pending"), "not pending any more").await;
}

#[tokio::test]
async fn a_users_message_to_a_sub_agent_answers_its_open_question() {
    let site = open().await;
    let chat = chat(&site).await.id;
    site.client().send(chat, "find it", None).await.unwrap();
    let question = wait_for_question(&site, chat).await;
    let message = json!({"id": "m7", "subAgentId": question.agent, "role": "user", "content": "red"});
    let first = tell(&site, "agent-loop", &message).await;
    assert_eq!(first["outcome"], "posted");
    let answered = site.client().question(question.id).await.unwrap();
    assert_eq!(answered.answer_in_words().as_deref(), Some("red"));
    let told = async || {
        transcript_lines(&site, chat).await.iter().any(|line| line.contains("It is found.")).then_some(())
    };
    until("a reply", told).await;
    wait_until_idle(&site, chat).await;
    // The same webhook again is recognized, and is no second message.
    assert_eq!(tell(&site, "agent-loop", &message).await, first);
    let items = site.client().items(question.agent, 0, u32::MAX).await.unwrap();
    let words = items.iter().filter(|item| serde_json::to_string(item).unwrap().contains("\"red\"")).count();
    assert_eq!(words, 1, "{items:#?}");
    assert_eq!(site.engine.store().inbox(question.agent).await.unwrap(), []);
}

/// It is unknown which of the two questions the message would answer.
#[tokio::test]
async fn a_users_message_to_a_sub_agent_with_two_open_questions_answers_neither() {
    let decide = |request: &Request| {
        let is_first = |message: &Message| matches!(message, Message::User(text) if text == "find it");
        Some(Ok(match (request.system.contains("You are the Orchestrator"), request.messages.last()) {
            (false, Some(message)) if is_first(message) => {
                Script::call("ask_user", json!({"question": "Which colour?"}))
                    .and_call("ask_user", json!({"question": "Which size?"}))
            }
            (false, Some(Message::User(text))) => Script::text(format!("They said: {text}")),
            (false, _) => Script::text("Nobody said anything."),
            (true, _) => scripted_reply(request),
        }))
    };
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = Engine::builder(store, Arc::new(ScriptedModel::deciding(decide))).tools(tools).build();
    let site = Site::serving(engine, settings()).await;
    let client = site.client();
    let (chat, task) = chat_with_new_task(&site).await;
    site.engine.advance(task.to).await.unwrap();
    let questions = async |status| client.questions(Some(chat), Some(status), Page::default()).await.unwrap();
    let open = questions(QuestionStatus::Open).await;
    let texts: Vec<&str> = open.iter().map(|question| question.text.as_str()).collect();
    assert_eq!(texts, ["Which colour?", "Which size?"]);

    let message = json!({"id": "m8", "subAgentId": task.to, "role": "user", "content": "red"});
    let told = tell(&site, "agent-loop", &message).await;
    assert_eq!(told["outcome"], "posted");
    assert_eq!(tell(&site, "agent-loop", &message).await, told, "it was taken once");
    site.engine.advance(task.to).await.unwrap();
    assert_eq!(questions(QuestionStatus::Open).await, open);

    // It is read as an ordinary message, once both are answered.
    for question in open {
        client.answer(question.id, Said::Declined).await.unwrap();
    }
    site.engine.advance(task.to).await.unwrap();
    let task = client.task(task.id).await.unwrap();
    assert_eq!(
        (task.status, task.result),
        (Status::Succeeded, Some(TaskResult::Text("They said: red".into())))
    );
}

#[tokio::test]
async fn unsigned_stale_and_malformed_webhooks_are_refused_without_effect() {
    let site = open().await;
    let chat = chat(&site).await.id;
    let body = json!({"id": "m1", "chatId": chat, "role": "user", "content": "find it"}).to_string();
    let (id, at) = ("msg_1", now());
    let good = signature(KEY, id, at, &body);
    for route in ROUTES {
        let unsigned = site.request(Method::POST, &format!("/webhook/{route}"));
        let unsigned = unsigned.header("content-type", "application/json").body(body.clone());
        let problem = send(unsigned).await.problem(401, "bad-signature");
        assert!(problem.detail.contains("webhook-id"), "{}", problem.detail);
        for (id, at, given, body) in [
            ("msg_2", at, &*good, &*body),
            (id, at + 1, &*good, &*body),
            (id, at, &*good, "{}"),
            (id, at, &*signature(b"nobody's key, long enough for it", id, at, &body), &*body),
            (id, at, "v1,", &*body),
            (id, at, "", &*body),
        ] {
            send(request(&site, route, id, at, given, body)).await.problem(401, "bad-signature");
        }
        for far in [at - 301, at + 310, 0] {
            let signed = signature(KEY, id, far, &body);
            let problem =
                send(request(&site, route, id, far, &signed, &body)).await.problem(401, "stale-webhook");
            assert!(problem.detail.contains("clock"), "{}", problem.detail);
        }
        for (bad, status, word) in
            [("{", 400, "invalid-json"), ("[]", 422, "invalid-body"), ("{}", 422, "invalid-body")]
        {
            let signed = signature(KEY, id, at, bad);
            send(request(&site, route, id, at, &signed, bad)).await.problem(status, word);
        }
    }
    let empty = json!({"id": "m1", "chatId": chat, "role": "user", "content": " "});
    tell_as(&site, KEY, "orchestrator", &empty).await.problem(422, "invalid-request");
    assert_eq!(site.client().items(chat, 0, 10).await.unwrap().len(), 0);
    assert_eq!(site.engine.store().inbox(chat).await.unwrap(), []);

    // A replay is answered like the first one; a change of the message is not read.
    let first = send(request(&site, "orchestrator", id, at, &good, &body)).await.expect(200);
    assert_eq!(send(request(&site, "orchestrator", id, at, &good, &body)).await.expect(200), first);
    let other = body.replace("find it", "lose it");
    let signed = signature(KEY, id, at, &other);
    let changed = send(request(&site, "orchestrator", id, at, &signed, &other)).await.expect(200);
    assert_eq!(changed["outcome"], "ignored", "{changed}");
    let question = wait_for_question(&site, chat).await;
    let heard = transcript_lines(&site, chat).await.iter().filter(|line| line.contains("find it")).count();
    assert_eq!(heard, 1);

    // A sender cannot reach the documents of another sender.
    let (agent, task, call) = (question.agent, question.task.unwrap(), question.call);
    let foreign = [
        ("orchestrator", json!({"id": "m9", "chatId": chat, "role": "user", "content": "hello"})),
        ("agent-init", json!({"id": task, "type": "agent", "name": "n"})),
        ("agent-loop", json!({"id": "m9", "subAgentId": agent, "role": "user", "content": "hello"})),
        ("tool-runner", json!({"id": call, "subAgentId": agent, "status": "pending"})),
        ("orchestrator-finalize", json!({"id": task, "status": "success"})),
        ("orchestrator-notify", json!({"id": task, "status": "waiting"})),
    ];
    let before = state(&site, chat).await;
    for (route, document) in &foreign {
        tell_as(&site, OTHER, route, document).await.problem(404, "not-found");
    }
    let mixed = json!({"id": "m9", "chatId": agent, "role": "user", "content": "hello"});
    tell_as(&site, KEY, "orchestrator", &mixed).await.problem(404, "not-found");
    let mixed = json!({"id": "m9", "subAgentId": chat, "role": "user", "content": "hello"});
    tell_as(&site, KEY, "agent-loop", &mixed).await.problem(404, "not-found");

    // An id of absurd length is neither stored nor repeated.
    let long = "m".repeat(1_000_000);
    for (route, document) in [
        ("orchestrator", json!({"id": long, "chatId": chat, "role": "user", "content": "hello"})),
        ("agent-loop", json!({"id": long, "subAgentId": agent, "role": "user", "content": "hello"})),
    ] {
        let refused = tell_as(&site, KEY, route, &document).await.problem(422, "invalid-body");
        assert!(refused.detail.len() < 100, "{route}: {} bytes", refused.detail.len());
    }
    for (route, document) in [
        ("agent-init", json!({"id": long, "type": "agent", "name": "n"})),
        ("tool-runner", json!({"id": long, "subAgentId": agent, "status": "pending"})),
        ("orchestrator-finalize", json!({"id": long, "status": "success"})),
        ("orchestrator-notify", json!({"id": long, "status": "waiting"})),
    ] {
        let outcome = tell(&site, route, &document).await;
        assert_eq!(outcome["outcome"], "ignored", "{route}");
        assert!(outcome.to_string().len() < 200, "{route}: {outcome}");
    }
    assert_eq!(state(&site, chat).await, before);
}

#[tokio::test]
async fn webhooks_require_a_configured_sender_with_a_valid_secret() {
    let site = Site::open().await;
    for route in ROUTES {
        let request = request(&site, route, "msg_1", now(), "v1,", "{}");
        let problem = send(request).await.problem(404, "no-webhooks");
        assert!(problem.detail.contains("server.webhooks"), "{}", problem.detail);
    }
    let short = WebhookSender { secret: "whsec_c2hvcnQ=".into(), owner: Owner::local() };
    let webhooks = BTreeMap::from([("database".to_owned(), short)]);
    let settings = Settings { webhooks, ..Settings::default() };
    let stop = tokio_util::sync::CancellationToken::new();
    let Err(refused) = entourage_server::router(site.engine.clone(), &settings, stop) else {
        panic!("refused")
    };
    let text = refused.to_string();
    assert!(text.contains("server.webhooks.database") && text.contains("openssl"), "{text}");
    assert!(!text.contains("c2hvcnQ"), "{text}");
}

/// The page says that its commands work unchanged: this runs them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_webhooks_page_work_unchanged() {
    for program in ["curl", "openssl"] {
        let found = Command::new(program).arg("version").output();
        assert!(found.is_ok(), "the page's recipe runs `{program}`: install it to test the recipe");
    }
    let page = include_str!("../../../docs/webhooks.md");
    let recipe = page
        .split("```sh\n")
        .skip(1)
        .find(|block| block.contains("curl"))
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let site = open().await;
    let chat = chat(&site).await.id;
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", recipe]).env("no_proxy", "127.0.0.1");
    shell
        .env("SERVER", format!("http://{}", site.address))
        .env("SECRET", secret(KEY))
        .env("CHAT", chat.to_string());
    let done = tokio::task::spawn_blocking(move || shell.output()).await.unwrap().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success() && out.contains("\"posted\""), "{out}{err}");
    let heard = transcript_lines(&site, chat).await;
    assert!(heard.iter().any(|line| line.contains("What is new?")), "{heard:?}");
}

#[tokio::test]
async fn only_its_owner_lists_and_retries_a_receiver() {
    let receiver = |name: &str, owner: &str| entourage_engine::Receiver {
        name: name.into(),
        owner: Owner::new(owner),
        events: vec![entourage_types::Occasion::TaskCreated],
    };
    let outbox = entourage_engine::Outbox::new([receiver("crm", "local"), receiver("other", "eve")]);
    let model = ScriptedModel::deciding(|request| Some(Ok(scripted_reply(request))));
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = Engine::builder(Arc::clone(&store), Arc::new(model)).tools(tools);
    let site = Site::serving(engine.outbox(outbox).build(), settings()).await;
    site.work();
    let chat = chat(&site).await.id;
    site.client().send(chat, "find it", None).await.unwrap();
    wait_for_question(&site, chat).await;

    let shown = site.get("/v1/webhooks").await.expect(200)["data"].clone();
    let due = shown[0]["next_attempt"].clone();
    let crm = json!({
        "name": "crm", "events": ["task.created"], "pending": 1, "given_up": 0, "last_failure": null,
        "next_attempt": due,
    });
    assert_eq!(shown, json!([crm]));
    assert!(due.is_string());
    let retry =
        async |name: &str| send(site.request(Method::POST, &format!("/v1/webhooks/{name}/retry"))).await;
    let again: entourage_api::Receiver = retry("crm").await.read();
    assert_eq!(again.pending, 1);
    retry("other").await.problem(404, "not-found");

    let listed = site.get("/v1/webhooks/crm/deliveries?status=pending").await.expect(200)["data"].clone();
    let delivery = listed[0]["id"].as_str().unwrap().to_owned();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["occasion"]), (1, &json!("task.created")));
    assert_eq!(site.get("/v1/webhooks/crm/deliveries?status=given_up").await.expect(200)["data"], json!([]));
    site.get("/v1/webhooks/other/deliveries").await.problem(404, "not-found");
    let one = async |name: &str, id: &str| {
        send(site.request(Method::POST, &format!("/v1/webhooks/{name}/deliveries/{id}/retry"))).await
    };
    assert_eq!(one("crm", &delivery).await.expect(200)["status"], "pending");
    one("other", &delivery).await.problem(404, "not-found");
    one("crm", &format!("dlv_{}", "0".repeat(32))).await.problem(404, "not-found");

    // One that was given up is tried once more.
    let id: DeliveryId = delivery.parse().unwrap();
    let kept: Delivery = store.record(&Scope::All, id).await.unwrap().unwrap();
    let given_up = Delivery { status: DeliveryStatus::GivenUp, ..kept };
    let commit = Commit::new(given_up.updated).write(Write::record(&given_up).unwrap());
    store.commit(commit).await.unwrap();
    let ids = async |status: &str| {
        let listed = site.get(&format!("/v1/webhooks/crm/deliveries?status={status}")).await.expect(200);
        listed["data"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((ids("given_up").await, ids("pending").await), (vec![json!(delivery)], Vec::new()));
    assert_eq!(one("crm", &delivery).await.expect(200)["status"], "pending");
    assert_eq!((ids("given_up").await, ids("pending").await), (Vec::new(), vec![json!(delivery)]));
}

#[tokio::test]
async fn a_webhook_signature_authenticates_only_its_own_sender() {
    let settings = Settings { webhooks: settings().webhooks, ..crate::auth::settings() };
    let site = Site::with(settings).await;
    let new = || NewAgent { kind: Some("orchestrator".into()), ..NewAgent::default() };
    let chat = site.engine.client(Owner::new("eve")).create(new(), None).await.unwrap();
    let message = json!({"id": "m1", "chatId": chat.id, "role": "user", "content": "hello"});
    let taken = tell_as(&site, OTHER, "orchestrator", &message).await.expect(200);
    assert_eq!(taken["outcome"], "posted");
    tell_as(&site, KEY, "orchestrator", &message).await.problem(404, "not-found");
    site.get("/v1/webhooks").await.problem(401, "unauthorized");
}
