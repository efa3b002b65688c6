//! `kill -9` of the binary in the middle of a delegation; the next start finishes it.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::{
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, extract::State, http::header, response::IntoResponse, routing::post};
use entourage_store::{AgentQuery, ItemQuery, RunQuery, Store};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_testkit::plain;
use entourage_types::{Scope, Status};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The binary of this package, built with the same profile.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_entourage");

/// A provider that reports every request to the test before it answers; the request with the held
/// number is never answered.
#[derive(Clone)]
struct Provider {
    told: mpsc::UnboundedSender<usize>,
    seen: Arc<Mutex<Vec<String>>>,
    held: Option<usize>,
    answer: Answer,
}

/// The name and the reply of an agent, by its system prompt and the number of its outputs.
type Answer = fn(&str, usize) -> (&'static str, Value);

/// An assistant that delegates to a researcher.
fn assistant_delegates(system: &str, outputs: usize) -> (&'static str, Value) {
    match (system.contains("You are the Researcher"), outputs) {
        (false, 0) => {
            ("assistant", call("send_message", json!({"recipient": "researcher", "message": "Look."})))
        }
        (true, 0) => ("researcher", call("list_files", json!({}))),
        (true, _) => ("researcher", json!({"content": "one file"})),
        (false, _) => ("assistant", json!({"content": "There is one file."})),
    }
}

/// A lead delegates to a middle, which delegates to a worker.
fn lead_delegates_two_levels(system: &str, outputs: usize) -> (&'static str, Value) {
    let next = |recipient: &str| call("send_message", json!({"recipient": recipient, "message": "Look."}));
    match (system.contains("You lead."), system.contains("You stand between."), outputs) {
        (true, _, 0) => ("lead", next("middle")),
        (_, true, 0) => ("middle", next("worker")),
        (true, ..) => ("lead", json!({"content": "There is one file."})),
        (_, true, _) => ("middle", json!({"content": "It is one file."})),
        (_, _, 0) => ("worker", call("list_files", json!({}))),
        _ => ("worker", json!({"content": "one file"})),
    }
}

async fn complete(State(provider): State<Provider>, Json(request): Json<Value>) -> impl IntoResponse {
    let system = request["messages"][0]["content"].to_string();
    let outputs =
        request["messages"].as_array().into_iter().flatten().filter(|m| m["role"] == "tool").count();
    let (who, delta) = (provider.answer)(&system, outputs);
    let number = {
        let mut seen = provider.seen.lock().unwrap();
        seen.push(format!("{who} {outputs}"));
        seen.len()
    };
    provider.told.send(number).unwrap();
    if provider.held == Some(number) {
        std::future::pending::<()>().await;
    }
    ([(header::CONTENT_TYPE, "text/event-stream")], stream_of(&delta))
}

/// An answer as a provider streams it.
pub(crate) fn stream_of(delta: &Value) -> String {
    let finish = if delta["tool_calls"].is_null() { "stop" } else { "tool_calls" };
    let chunk = |body: Value| format!("data: {body}\n\n");
    [
        chunk(json!({"id": "c", "model": "fake", "choices": [{"index": 0, "delta": delta}]})),
        chunk(json!({"id": "c", "model": "fake", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})),
        chunk(json!({"id": "c", "model": "fake", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}})),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
}

/// Serves a provider on loopback; returns its address, its requests and its reports.
async fn serve(
    answer: Answer,
    held: Option<usize>,
) -> (String, Arc<Mutex<Vec<String>>>, mpsc::UnboundedReceiver<usize>) {
    let (told, tells) = mpsc::unbounded_channel();
    let provider = Provider { told, seen: Arc::default(), held, answer };
    let seen = Arc::clone(&provider.seen);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let app = Router::new().route("/v1/chat/completions", post(complete)).with_state(provider);
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, seen, tells)
}

fn start(directory: &Path, url: &str, arguments: &[&str]) -> Child {
    let data = directory.join("data");
    std::fs::create_dir_all(&data).unwrap();
    let settings = format!(
        "[models]\ndefault = \"compatible::fake\"\n[models.providers.compatible]\nbase_url = {url:?}\n\
         [models.profiles.\"compatible::fake\"]\nnative_tools = true\n"
    );
    std::fs::write(data.join("entourage.toml"), settings).unwrap();
    let mut command = Command::new(BINARY);
    command
        .env_clear()
        .arg("--data")
        .arg(&data)
        .arg("--json")
        .args(arguments)
        .args(["--files".as_ref(), directory.join("files").as_os_str()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

async fn wait_for_output(child: Child) -> Output {
    let pid = child.id().to_string();
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output());
    if let Ok(ended) = tokio::time::timeout(Duration::from_secs(60), ended).await {
        return ended.unwrap().unwrap();
    }
    // The test ends no sooner than the thread that waits.
    Command::new("kill").args(["-9", &pid]).status().unwrap();
    panic!("it does not end");
}

/// The transcripts of all agents in the database at the end.
async fn transcripts(directory: &Path) -> Vec<Vec<String>> {
    let store = SqliteStore::open(directory.join("data/entourage.db"), Settings::default()).unwrap();
    let mut all = Vec::new();
    for agent in store.agents(&Scope::All, AgentQuery::default()).await.unwrap() {
        assert_eq!(agent.status, Status::Succeeded);
        let query = ItemQuery::of(agent.id, 0, 100);
        let items = store.items(&Scope::All, query).await.unwrap();
        let runs = RunQuery { agent: Some(agent.id), ..RunQuery::default() };
        assert_eq!(store.runs(&Scope::All, runs).await.unwrap().len(), 1);
        // The clock is the wall's.
        let without_time = |line: String| match line.starts_with("context: ") {
            true => "context".to_owned(),
            false => line,
        };
        all.push(plain(&items).into_iter().map(without_time).collect());
    }
    all
}

fn write_files_and_kinds(directory: &Path) {
    std::fs::create_dir_all(directory.join("files")).unwrap();
    std::fs::write(directory.join("files/one.txt"), "one").unwrap();
    let kinds = directory.join("data/kinds");
    std::fs::create_dir_all(&kinds).unwrap();
    let kind = |name: &str, front: &str, body: &str| {
        std::fs::write(kinds.join(format!("{name}.md")), format!("---\nname: {name}\n{front}---\n{body}\n"))
            .unwrap();
    };
    kind("lead", "tools: [send_message]\npeers: [middle]\n", "You lead.");
    kind("middle", "tools: [send_message]\npeers: [worker]\n", "You stand between.");
    kind("worker", "tools: [list_files]\n", "You work.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_delegation_is_finished_by_the_next_start() {
    let requests = ["assistant 0", "researcher 0", "researcher 1", "assistant 1"];
    kill_at_every_request(assistant_delegates, &["run", "How many files?"], &requests).await;
}

/// Shows: S2-R085.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_delegation_three_levels_deep_ends_as_without_the_kill() {
    let requests = ["lead 0", "middle 0", "worker 0", "worker 1", "middle 1", "lead 1"];
    kill_at_every_request(
        lead_delegates_two_levels,
        &["run", "How many files?", "--kind", "lead"],
        &requests,
    )
    .await;
}

/// Runs this without faults, and then with a `kill -9` in the middle of each of these requests.
async fn kill_at_every_request(answer: Answer, arguments: &[&str], expected_requests: &[&str]) {
    let undisturbed = tempfile::tempdir().unwrap();
    write_files_and_kinds(undisturbed.path());
    let (url, seen, _tells) = serve(answer, None).await;
    let ran = wait_for_output(start(undisturbed.path(), &url, arguments)).await;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let expected = transcripts(undisturbed.path()).await;
    let requests = seen.lock().unwrap().clone();
    assert_eq!(requests, expected_requests);

    for held in 1..=requests.len() {
        let directory = tempfile::tempdir().unwrap();
        write_files_and_kinds(directory.path());
        let (url, seen, mut tells) = serve(answer, Some(held)).await;
        let mut child = start(directory.path(), &url, arguments);
        let comes = async { while tells.recv().await.unwrap() != held {} };
        tokio::time::timeout(Duration::from_secs(30), comes).await.expect("the request that is held comes");
        // SIGKILL: no handler runs, nothing is flushed.
        child.kill().unwrap();
        child.wait().unwrap();
        let ran = wait_for_output(start(directory.path(), &url, &["run", "--resume"])).await;
        let stdout = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "held {held}: {stdout}\n{}", String::from_utf8_lossy(&ran.stderr));
        let report: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
        assert_eq!(report["answer"], "There is one file.");
        assert_eq!(report["usage"]["input"], 9 * requests.len(), "each turn is paid for once");
        assert_eq!(transcripts(directory.path()).await, expected, "killed at request {held}");
        let mut asked = seen.lock().unwrap().clone();
        assert_eq!(asked.remove(held - 1), requests[held - 1]);
        assert_eq!(asked, requests, "only the request that was cut off is asked again");
    }
}
