//! Explorations with a real language model. What it writes is not judged. What the engine guarantees is: an exploration
//! ends, well or with an honest error; each of its decisions has the form that was asked for; its bounds hold.

use std::{path::Path, process::Command, time::Duration};

use entourage_store::{AgentQuery, ItemQuery, RunQuery, Store};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_testkit::plain;
use entourage_types::{DecisionOutcome, ItemBody, Scope, Status};

/// What is explored; `EXPLORATIONS` says how many of these.
const QUESTIONS: [&str; 5] = [
    "Why do ships float although steel sinks? Three sentences.",
    "Compare tea and coffee: origin, taste, effect.",
    "Plan it.",
    "What is the capital of Portugal, and on which river does it lie?",
    "Name two reasons for and two against a night train.",
];

/// The fields that each decision must have, by the phase that takes it.
const FIELDS: [(&str, &[&str]); 4] = [
    ("clarify", &["ambiguous", "question"]),
    ("missing", &["missing", "question"]),
    ("explore", &["subquestions"]),
    ("summary", &["summary", "needs_more_info", "question"]),
];

/// The built-in explorer, whose questions expire at once: nobody is there who could answer.
fn write_settings(data: &Path) {
    let built_in =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../agents/explorer.md")).unwrap();
    let explorer = built_in
        .replace("max_steps: 20,", "max_steps: 4, max_seconds: 600, answer_seconds: 1,")
        .replace(
            "tools: [list_files, read_file, search_notes, create_note, web_search, fetch_url, mcp]",
            "tools: [create_note]",
        )
        .replace("max_subquestions: 4", "max_subquestions: 2");
    assert!(explorer.contains("answer_seconds: 1") && explorer.contains("max_subquestions: 2"), "{explorer}");
    std::fs::create_dir_all(data.join("kinds")).unwrap();
    std::fs::write(data.join("kinds/explorer.md"), explorer).unwrap();
    let (model, url) = (super::named("LOCAL_MODEL_NAME"), super::named("LOCAL_MODEL_URL"));
    let settings = format!(
        "[models]
default = \"compatible::{model}\"
[models.providers.compatible]
base_url = \"{url}\"
header_seconds = 300
silence_seconds = 300
"
    );
    std::fs::write(data.join("entourage.toml"), settings).unwrap();
}

/// Explores a question to its end. Where a question is open, the program ends; the next one finds it expired.
async fn explore(data: &Path, question: &str) {
    let mut said = vec!["--json", "run", question, "--kind", "explorer"];
    for _ in 0..8 {
        let mut command = Command::new(super::named("BINARY"));
        command.arg("--data").arg(data).args(&said);
        let ran = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        println!("{}", String::from_utf8_lossy(&ran.stdout).lines().last().unwrap_or_default());
        if matches!(ran.status.code(), Some(0 | 1)) {
            return;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        said = vec!["--json", "run", "--resume"];
    }
    panic!("`{question}` does not end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explorations_end_and_each_decision_has_its_form() {
    let many = std::env::var("EXPLORATIONS").ok().and_then(|many| many.parse().ok()).unwrap_or(1);
    let directory = tempfile::tempdir().unwrap();
    write_settings(directory.path());
    for question in QUESTIONS.into_iter().take(many) {
        println!("{question}");
        explore(directory.path(), question).await;
    }
    let store = SqliteStore::open(directory.path().join("entourage.db"), Settings::default()).unwrap();
    let (mut roots, mut decisions) = (0, 0);
    for agent in store.agents(&Scope::All, AgentQuery::default()).await.unwrap() {
        roots += usize::from(agent.parent.is_none());
        let items = store.items(&Scope::All, ItemQuery::of(agent.id, 0, 1000)).await.unwrap();
        println!("{} {} {}:\n  {}", agent.kind, agent.depth, agent.status, plain(&items).join("\n  "));
        assert!(
            matches!(agent.status, Status::Succeeded | Status::Failed | Status::Cancelled),
            "{} is {}",
            agent.id,
            agent.status
        );
        let below = AgentQuery { parent: Some(agent.id), ..AgentQuery::default() };
        let below = store.agents(&Scope::All, below).await.unwrap().len();
        assert!(
            below <= if agent.depth == 0 { 2 } else { 0 },
            "{below} agents below one of depth {}",
            agent.depth
        );
        let of_agent = RunQuery { agent: Some(agent.id), ..RunQuery::default() };
        for run in store.runs(&Scope::All, of_agent).await.unwrap() {
            let is_honest =
                run.status == Status::Succeeded || run.error.as_ref().is_some_and(|why| !why.is_empty());
            assert!(is_honest || run.status == Status::Cancelled, "{run:?}");
        }
        for item in &items {
            let ItemBody::Decision(decision) = &item.body else { continue };
            // One that failed ended its run, which says so.
            let DecisionOutcome::Value(value) = &decision.outcome else { continue };
            let (_, fields) = FIELDS.iter().find(|(phase, _)| decision.name.starts_with(phase)).unwrap();
            let has_all = fields.iter().all(|field| value.get(field).is_some());
            assert!(has_all, "{} has other fields: {value}", decision.name);
            decisions += 1;
        }
    }
    println!("{roots} explorations, {decisions} decisions");
    assert_eq!(roots, many);
    assert!(decisions >= many, "{decisions} decisions");
}
