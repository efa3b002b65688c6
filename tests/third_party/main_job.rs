//! The main job on real input with a real language model: orchestrator, researcher, a page over
//! HTTP, files of a directory, a real MCP server, a note, an answer.
//!
//! A small model wanders: it may answer before it has used everything. A kind with only the missing
//! tool then asks for it once more. What the model writes is not judged. What the engine guarantees
//! is: transcripts are well formed, every call is answered, the run ends, usage is recorded.

use std::{collections::BTreeSet, path::Path, process::Command};

use axum::{Router, response::Html, routing::get};
use entourage_store::{AgentQuery, EntityQuery, ItemQuery, Page, RunQuery, Store};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_testkit::plain;
use entourage_types::{Item, ItemBody, Note, Scope, Status};

const ORCHESTRATOR: &str = "---
name: orchestrator
description: Talks with the user.
tools: [send_message]
peers: [researcher]
limits: {max_steps: 3}
---
You lead. First send the whole task to `researcher` with `send_message`. When its result is in, give the
final answer in one sentence.
";

const PAGE: &str = "<html><head><title>Bridge</title></head><body><article><h1>Bridge</h1>\
<p>The bridge of Arden is 214 metres long and was opened in 1931.</p></article></body></html>";

fn researcher(page: &str) -> String {
    format!(
        "---
name: researcher
description: Reads pages and files.
tools: [fetch_url, read_file, create_note, mcp__everything__echo]
limits: {{max_steps: 6, max_same_tool: 3}}
---
You work in exactly this order, one action a turn, none twice:
1. `fetch_url` with url {page}
2. `read_file` with path bridge.txt
3. `everything__echo` with a message
4. `create_note` with what you found
5. the final answer
"
    )
}

/// Serves the page on loopback, for as long as the program runs.
async fn page() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/bridge", get(|| async { Html(PAGE) }));
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/bridge")
}

/// A model that wanders fetches addresses that it invented; there is no person to ask about them.
fn write_settings(data: &Path, page: &str, files: &Path) {
    let model = super::named("LOCAL_MODEL_NAME");
    let mcp: Vec<String> =
        super::named("MCP_COMMAND").split_whitespace().map(|word| format!("{word:?}")).collect();
    let host = page.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap();
    std::fs::create_dir_all(data.join("kinds")).unwrap();
    std::fs::write(data.join("kinds/orchestrator.md"), ORCHESTRATOR).unwrap();
    std::fs::write(data.join("kinds/researcher.md"), researcher(page)).unwrap();
    let settings = format!(
        "[models]
default = \"compatible::{model}\"
[models.providers.compatible]
base_url = \"{url}\"
header_seconds = 300
silence_seconds = 300
[tools]
files = {files:?}
[tools.fetch]
allow = [\"{host}\"]
approval = \"never\"
[[tools.mcp]]
name = \"everything\"
command = {command}
args = [{args}]
",
        url = super::named("LOCAL_MODEL_URL"),
        command = mcp[0],
        args = mcp[1..].join(", "),
    );
    std::fs::write(data.join("entourage.toml"), settings).unwrap();
}

/// A kind with one tool and one task for it.
fn errand(tool: &str, what: &str) -> String {
    let listed = if tool.contains("__") { format!("mcp__{tool}") } else { tool.to_owned() };
    format!(
        "---
name: {name}
description: Does one thing.
tools: [{listed}]
peers: [researcher]
limits: {{max_steps: 3, max_same_tool: 2}}
---
Your first action is `{tool}` {what}. Your second action is `final_answer`.
",
        name = errand_name(tool)
    )
}

/// How many times a small model is asked for one thing.
const ATTEMPTS: usize = 6;

fn errand_name(tool: &str) -> String {
    format!("only_{tool}")
}

/// Runs the binary on one task to its end; returns the report it prints.
async fn run(data: &Path, kind: &str, task: &str) -> serde_json::Value {
    let mut command = Command::new(super::named("BINARY"));
    command.arg("--data").arg(data).args(["--json", "run", task, "--kind", kind]);
    let ran = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let code = ran.status.code();
    assert!(matches!(code, Some(0 | 1)), "the run ended, well or not: {code:?}\n{stderr}");
    let stdout = String::from_utf8(ran.stdout).unwrap();
    serde_json::from_str(stdout.lines().last().unwrap_or_default()).unwrap()
}

/// Verifies what the engine guarantees for every tree; returns the tools that answered without an
/// error.
async fn assert_engine_guarantees(data: &Path) -> BTreeSet<String> {
    let store = SqliteStore::open(data.join("entourage.db"), Settings::default()).unwrap();
    let mut used = BTreeSet::new();
    for agent in store.agents(&Scope::All, AgentQuery::default()).await.unwrap() {
        assert!(
            matches!(agent.status, Status::Succeeded | Status::Failed),
            "{} is {}",
            agent.kind,
            agent.status
        );
        let query = ItemQuery::of(agent.id, 0, 1000);
        let items = store.items(&Scope::All, query).await.unwrap();
        println!("{} {}:\n  {}", agent.kind, agent.status, plain(&items).join("\n  "));
        used.extend(items.iter().filter_map(answered_tool));
        let runs = RunQuery { agent: Some(agent.id), ..RunQuery::default() };
        let runs = store.runs(&Scope::All, runs).await.unwrap();
        assert!(!runs.is_empty() && runs.iter().all(|run| run.ended.is_some() && run.usage.output > 0));
    }
    used
}

/// The tokens of all recorded runs.
async fn tokens(data: &Path) -> u64 {
    let store = SqliteStore::open(data.join("entourage.db"), Settings::default()).unwrap();
    let runs = store.runs(&Scope::All, RunQuery::default()).await.unwrap();
    runs.iter().map(|run| run.usage.input).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_model_completes_calls_of_every_sort_of_tool() {
    let directory = tempfile::tempdir().unwrap();
    let (data, files) = (directory.path().join("data"), directory.path().join("files"));
    std::fs::create_dir_all(&files).unwrap();
    std::fs::write(files.join("bridge.txt"), "The bridge of Arden was repaired in 1988.\n").unwrap();
    let page = page().await;
    write_settings(&data, &page, &files);
    let errands = [
        ("send_message", "with recipient researcher and message `Say hello.`".to_owned()),
        ("fetch_url", format!("with url {page}")),
        ("read_file", "with path bridge.txt".to_owned()),
        ("everything__echo", "with message `hello`".to_owned()),
        ("create_note", "with title `Bridge` and content `214 metres long`".to_owned()),
    ];
    for (tool, what) in &errands {
        let file = data.join(format!("kinds/{}.md", errand_name(tool)));
        std::fs::write(file, errand(tool, what)).unwrap();
    }

    let task = "Find out how long the bridge of Arden is, when it was opened and when it was repaired.";
    let report = run(&data, "orchestrator", task).await;
    let used = assert_engine_guarantees(&data).await;
    println!("tools that answered: {used:?}");
    assert_eq!(
        report["usage"]["input"].as_u64(),
        Some(tokens(&data).await),
        "what the tree used sums exactly"
    );

    for (tool, what) in &errands {
        let mut used = assert_engine_guarantees(&data).await;
        for _ in 0..ATTEMPTS {
            if used.contains(*tool) {
                break;
            }
            run(&data, &errand_name(tool), &format!("Your next action is `{tool}` {what}.")).await;
            used = assert_engine_guarantees(&data).await;
        }
        assert!(used.contains(*tool), "`{tool}` never answered; those that did: {used:?}");
    }
    let store = SqliteStore::open(data.join("entourage.db"), Settings::default()).unwrap();
    let notes = EntityQuery { page: Page::default(), ..EntityQuery::records::<Note>() };
    assert!(!store.entities(&Scope::All, notes).await.unwrap().is_empty(), "a note was kept");
}

/// The tool of an output that is no error.
fn answered_tool(item: &Item) -> Option<String> {
    match &item.body {
        ItemBody::Output(output) if !output.error => Some(output.tool.clone()),
        _ => None,
    }
}
