//! `kill -9` of the binary while code of agents forks and waits: each agent is made once, and each result read once.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::{collections::BTreeMap, path::Path, time::Duration};

use axum::{
    Json, Router,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::post,
};
use entourage_store::{AgentQuery, EntityQuery, ItemQuery, Page, RunQuery, Store};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_testkit::audit;
use entourage_types::{AgentId, CodeSnapshot, ItemBody, Note, Record, Scope, Status, Wait};
use reqwest::Client;
use serde_json::{Value, json};

use crate::{
    kill::{call, stream_of},
    kill_loop::{Dice, ServerProcess, spawn},
};

/// The kind whose agents run code.
const KIND: &str = "---\nname: coder\ndescription: Works.\ntools: [python, create_note]\n---\nWork.\n";

/// Code that keeps its state over its waits, and has an effect of its own.
const CODE: &str = "
state = [f'line {number}' for number in range(size)]
handles = [fork(f'{job} a'), fork(f'{job} b')]
emit(f'{job} has begun')
first = wait(handles[0])
tool('create_note', title=job, content=first)
second = wait(handles[1])
[first, second, sum(len(line) for line in state)]
";

/// What a job's code returns.
fn result(job: &str) -> String {
    let state: usize = (0..size(job)).map(|number| format!("line {number}").len()).sum();
    format!("['did {job} a', 'did {job} b', {state}]")
}

/// Half of the jobs have a state of more than a MiB.
fn size(job: &str) -> usize {
    if job.ends_with("-0") { 60_000 } else { 10 }
}

/// A provider whose model runs code for each job, and answers what an agent is asked.
async fn complete(Json(request): Json<Value>) -> impl IntoResponse {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let said = messages.iter().find(|message| message["role"] == "user");
    let asked = said.and_then(|said| said["content"].as_str()?.lines().last()).unwrap_or_default();
    let returned = messages.iter().rev().find(|message| message["role"] == "tool");
    let delta = match (returned, asked.split_once(' ')) {
        (Some(returned), _) => json!({ "content": returned["content"] }),
        (None, Some(_)) => json!({ "content": format!("did {asked}") }),
        (None, None) => {
            let code = format!("job = '{asked}'\nsize = {}\n{CODE}", size(asked));
            call("python", json!({ "code": code }))
        }
    };
    // A provider takes some time, so that kills hit calls under way.
    tokio::time::sleep(Duration::from_millis(5)).await;
    ([(header::CONTENT_TYPE, "text/event-stream")], stream_of(&delta))
}

/// Writes the settings of the next process: how many agents work at once, and whether the state of code is kept.
fn write_settings(data: &Path, url: &str, life: u64) {
    // For two lives each: code that begins in one often goes on in the next.
    let (concurrency, snapshots) = (1 + life % 3, if life % 4 < 2 { "always" } else { "never" });
    let settings = format!(
        "[dispatch]\ngive_up_after = 1000\nconcurrency = {concurrency}\n[tools.python]\nsnapshots = \"{snapshots}\"\n\
         [models]\ndefault = \"compatible::fake\"\n[models.providers.compatible]\nbase_url = \"{url}/v1\"\n\
         [models.profiles.\"compatible::fake\"]\nnative_tools = true\n"
    );
    std::fs::write(data.join("entourage.toml"), settings).unwrap();
}

/// Repeats every unconfirmed request, under the same key as before.
async fn ask(http: &Client, url: &str, jobs: &mut BTreeMap<String, bool>) {
    for (job, taken) in jobs.iter_mut().filter(|(_, taken)| !**taken) {
        let body = json!({ "kind": "coder", "message": job });
        let asked = http.post(format!("{url}/v1/agents")).header("idempotency-key", job).json(&body);
        *taken = asked.send().await.is_ok_and(|answer| answer.status() == StatusCode::CREATED.as_u16());
    }
}

/// How many of these jobs have ended.
async fn ended(http: &Client, url: &str) -> Option<usize> {
    let (mut ended, mut cursor) = (0, String::new());
    loop {
        let page = http.get(format!("{url}/v1/agents?limit=200{cursor}")).send().await.ok()?;
        let page: Value = page.json().await.ok()?;
        let roots = page["data"].as_array()?.iter().filter(|agent| agent["depth"] == 0);
        ended += roots.filter(|agent| agent["status"] == "succeeded" || agent["status"] == "failed").count();
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Some(ended),
        }
    }
}

/// Verifies the database: for each job one agent, two below it, and the results in their order.
async fn judge(store: &SqliteStore, jobs: &BTreeMap<String, bool>) {
    let violations: Vec<String> = audit(store, None).await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(violations, [""; 0]);
    let query = AgentQuery { page: Page { limit: u32::MAX, ..Page::default() }, ..AgentQuery::default() };
    let agents = store.agents(&Scope::All, query).await.unwrap();
    let (mut said, mut below): (BTreeMap<String, String>, BTreeMap<AgentId, Vec<String>>) =
        Default::default();
    for agent in &agents {
        assert_eq!(agent.status, Status::Succeeded, "{agent:?}");
        let items = store.items(&Scope::All, ItemQuery::of(agent.id, 0, 100)).await.unwrap();
        let heard: Vec<&str> = items
            .iter()
            .filter_map(|item| match &item.body {
                ItemBody::Message(message) => Some(message.text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(heard.len(), 1, "each agent is told once: {heard:?}");
        match agent.parent {
            Some(parent) => below.entry(parent).or_default().push(heard[0].to_owned()),
            None => {
                let output = items.iter().find_map(|item| match &item.body {
                    ItemBody::Output(output) => Some(output.text.clone()),
                    _ => None,
                });
                said.insert(heard[0].to_owned(), output.unwrap_or_default());
                below.entry(agent.id).or_default();
            }
        }
    }
    for job in jobs.keys() {
        assert_eq!(said.get(job), Some(&result(job)), "`{job}`");
    }
    assert_eq!(said.len(), jobs.len());
    let query =
        EntityQuery { page: Page { limit: u32::MAX, ..Page::default() }, ..EntityQuery::records::<Note>() };
    let notes = store.entities(&Scope::All, query).await.unwrap();
    let mut kept: Vec<String> = notes.iter().map(|note| Note::from_entity(note).unwrap().title).collect();
    kept.sort();
    assert_eq!(kept, jobs.keys().cloned().collect::<Vec<_>>(), "one note of each job");
    for children in below.values() {
        assert_eq!(children.len(), 2, "each agent is forked once: {children:?}");
    }
}

/// What a killed process leaves: agents whose code waits, and the largest state of code, in bytes.
async fn left(data: &Path) -> (usize, usize) {
    let store = SqliteStore::open(data.join("entourage.db"), Settings::default()).unwrap();
    let all = Page { limit: u32::MAX, ..Page::default() };
    let runs = RunQuery { open: true, page: all.clone(), ..RunQuery::default() };
    let mut waiting = 0;
    for run in store.runs(&Scope::All, runs).await.unwrap() {
        let steps = store.steps(&Scope::All, run.id).await.unwrap();
        waiting += steps.iter().filter(|step| matches!(step.wait(), Some(Wait::SubCalls { .. }))).count();
    }
    let query = EntityQuery { page: all, ..EntityQuery::records::<CodeSnapshot>() };
    let kept = store.entities(&Scope::All, query).await.unwrap();
    let kept: Vec<_> = kept.iter().map(|kept| CodeSnapshot::from_entity(kept).unwrap()).collect();
    // As Base64, which makes four bytes of three.
    (waiting, kept.iter().map(|kept| kept.state.len() / 4 * 3).max().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_of_a_server_killed_repeatedly_forks_once_and_reads_each_result_once() {
    let kills = std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().route("/v1/chat/completions", post(complete));
    tokio::spawn(async move { axum::serve(listener, app).await });
    std::fs::create_dir_all(data.join("kinds")).unwrap();
    std::fs::write(data.join("kinds/coder.md"), KIND).unwrap();
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    entourage_llm::install_tls();
    let (mut dice, http, mut jobs) = (Dice::new(seed), Client::new(), BTreeMap::new());
    let (mut waited, mut largest) = (0, 0);
    for kill in 0..kills {
        write_settings(&data, &url, kill);
        if dice.below(8) == 0 {
            let mut child = spawn(&data);
            std::thread::sleep(Duration::from_millis(dice.below(40)));
            child.kill().unwrap();
            child.wait().unwrap();
            continue;
        }
        let life = ServerProcess::begin(&data);
        jobs.extend((0..2).map(|n| (format!("job-{kill}-{n}"), false)));
        // Now and then a life is long enough for a large state to be kept.
        let moment = Duration::from_millis(dice.below(200) + if kill % 8 == 1 { 1_000 } else { 0 });
        let _ = tokio::time::timeout(moment, async {
            ask(&http, life.url(), &mut jobs).await;
            std::future::pending::<()>().await;
        })
        .await;
        life.kill();
        if kill % 4 == 1 {
            let (waiting, state) = left(&data).await;
            (waited, largest) = (waited + waiting, largest.max(state));
        }
    }
    write_settings(&data, &url, 1);
    let life = ServerProcess::begin(&data);
    let calm = async {
        loop {
            ask(&http, life.url(), &mut jobs).await;
            if ended(&http, life.url()).await == Some(jobs.len()) {
                return;
            }
            // Another process works, and is polled again and again: leave it the cores in between.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let quiet = tokio::time::timeout(Duration::from_secs(90 + kills), calm).await;
    life.kill();
    let store = SqliteStore::open(data.join("entourage.db"), Settings::default()).unwrap();
    quiet.unwrap_or_else(|_| panic!("not quiet: {jobs:?}"));
    judge(&store, &jobs).await;
    println!(
        "{kills} kills, {} jobs with two forks each; {waited} times code waited at one of the kills that were looked \
         at, with a state of at most {largest} bytes",
        jobs.len()
    );
    if kills >= 50 {
        assert!(waited > 0, "no kill met code that waits");
        assert!(largest > 1 << 20, "the largest state has {largest} bytes");
    }
}
