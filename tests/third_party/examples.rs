//! The examples with a real language model, as a newcomer runs them.
//!
//! What a small model writes is not judged. What the engine guarantees is: the chat answers,
//! transcripts are well formed, and usage is recorded.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use entourage_store::{AgentQuery, ItemQuery, Page, RunQuery, Store};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_testkit::plain;
use entourage_types::{ItemBody, Scope};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::Command,
    time::timeout,
};

/// How long a small model may take before it answers.
const PATIENCE: Duration = Duration::from_secs(600);

fn write_settings(data: &Path) {
    std::fs::create_dir_all(data).unwrap();
    let settings = format!(
        "[models]
default = \"compatible::{model}\"
[models.providers.compatible]
base_url = \"{url}\"
header_seconds = 300
silence_seconds = 300
",
        model = super::named("LOCAL_MODEL_NAME"),
        url = super::named("LOCAL_MODEL_URL"),
    );
    std::fs::write(data.join("entourage.toml"), settings).unwrap();
}

fn example(name: &str) -> PathBuf {
    Path::new(&super::named("BINARY")).with_file_name("examples").join(name)
}

#[tokio::test]
async fn the_research_chat_example_answers() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("entourage-research-chat");
    write_settings(&data);
    let question = "What is the capital of France? Answer in one sentence.";
    let mut chat = Command::new(example("research_chat"))
        .arg(question)
        .env("TMPDIR", directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (mut say, heard) = (chat.stdin.take().unwrap(), chat.stdout.take().unwrap());
    let mut lines = BufReader::new(heard).lines();
    // The first line names the model; an empty one precedes each message.
    let mut said = Vec::new();
    while let Some(line) = timeout(PATIENCE, lines.next_line()).await.expect("somebody answers").unwrap() {
        println!("{line}");
        if line.contains(" needs more information: ") {
            say.write_all(b"Decide yourself.\n").await.unwrap();
        } else if !line.is_empty() && !line.starts_with(['>', '(']) {
            said.push(line);
            break;
        }
    }
    assert!(!said.is_empty(), "it ended without an answer");
    drop(say);
    while let Some(line) = timeout(PATIENCE, lines.next_line()).await.expect("it ends").unwrap() {
        println!("{line}");
    }
    assert!(chat.wait().await.unwrap().success());
    assert_engine_guarantees(&data.join("entourage.db")).await;
}

#[tokio::test]
async fn the_agency_example_answers_or_reports_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    write_settings(&data);
    let ran = Command::new(example("agency"))
        .env("TMPDIR", directory.path())
        .env("ENTOURAGE_CONFIG", data.join("entourage.toml"))
        .kill_on_drop(true)
        .output();
    let ran = timeout(PATIENCE, ran).await.expect("its steps are bounded").unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    println!("{said}");
    assert!(ran.status.success());
    assert!(said.lines().any(|line| line.starts_with("Ceo: ") || line.starts_with("it failed: ")));
    assert_engine_guarantees(&directory.path().join("entourage-agency.db")).await;
}

/// Verifies what the engine guarantees for every tree.
async fn assert_engine_guarantees(database: &Path) {
    let store = SqliteStore::open(database, Settings::default()).unwrap();
    let (scope, mut turns) = (Scope::All, 0);
    for agent in store.agents(&scope, AgentQuery::default()).await.unwrap() {
        let items = store.items(&scope, ItemQuery::of(agent.id, 0, 1000)).await.unwrap();
        println!("{} {}:\n  {}", agent.kind, agent.status, plain(&items).join("\n  "));
        turns += items.iter().filter(|item| matches!(item.body, ItemBody::Turn(_))).count();
    }
    assert!(turns > 0, "a model spoke");
    let page = Page::default();
    let runs = store.runs(&scope, RunQuery { page, ..RunQuery::default() }).await.unwrap();
    assert!(runs.iter().any(|run| run.ended.is_some() && run.usage.output > 0), "what it used is on record");
}
