//! `kill -9` of the binary again and again, at any moment, while people request more; an auditor
//! that knows the requests, and the effects of the tools, inspects what is left.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use entourage_store::{EntityQuery, ItemQuery, Page, Store};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_testkit::audit;
use entourage_types::{ItemBody, Note, Record, Scope, Status};
use proptest::{
    prelude::Rng as _,
    test_runner::{RngAlgorithm, TestRng},
};
use reqwest::Client;
use serde_json::{Value, json};

use crate::kill::{BINARY, call, stream_of};

/// What the world outside the process recorded: how many times each job was paid for.
type Paid = Arc<Mutex<BTreeMap<String, usize>>>;

/// The kind that works: a file, as people write them.
const KIND: &str = "---\nname: worker\ndescription: Works.\ntools: [create_note, mcp]\n---\nWork.\n";

/// A provider whose model writes a note about each job, pays for it, and ends.
async fn complete(Json(request): Json<Value>) -> impl IntoResponse {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    // Changing parts, such as the time, are below the first line.
    let said = messages.iter().find(|message| message["role"] == "user");
    let job = said.and_then(|said| said["content"].as_str()?.lines().last()).unwrap_or_default();
    let outputs = messages.iter().filter(|message| message["role"] == "tool").count();
    let delta = match outputs {
        0 => call("create_note", json!({ "title": job, "content": "begun" })),
        1 => call("shop__pay", json!({ "job": job })),
        _ => json!({ "content": format!("done: {job}") }),
    };
    // A provider takes some time, so that kills hit calls under way.
    tokio::time::sleep(Duration::from_millis(5)).await;
    ([(header::CONTENT_TYPE, "text/event-stream")], stream_of(&delta))
}

/// An MCP server with one tool, whose effect must not be repeated.
async fn shop(State(paid): State<Paid>, Json(request): Json<Value>) -> Response {
    let result = match request["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "shop", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [{
            "name": "pay",
            "description": "Pays for a job.",
            "inputSchema": { "type": "object", "properties": { "job": { "type": "string" } } },
        }] }),
        Some("tools/call") => {
            let job = request["params"]["arguments"]["job"].as_str().unwrap_or_default().to_owned();
            *paid.lock().unwrap().entry(job).or_default() += 1;
            // So does a shop: kills hit payments that were made and not answered.
            tokio::time::sleep(Duration::from_millis(5)).await;
            json!({ "content": [{ "type": "text", "text": "paid" }] })
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).into_response()
}

/// The world outside: a provider and a shop, which outlive every kill.
async fn world(paid: Paid) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/mcp", post(shop))
        .with_state(paid);
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// Reproducible randomness.
pub(crate) struct Dice(TestRng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        let seed = [seed.to_le_bytes(); 4].concat();
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }
}

/// Starts a process of the server.
pub(crate) fn spawn(data: &Path) -> Child {
    let mut command = Command::new(BINARY);
    command.env_clear().arg("--data").arg(data).args(["serve", "--bind", "127.0.0.1:0", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// A process of the server that has said where it listens.
pub(crate) struct ServerProcess {
    child: Child,
    url: String,
}

impl ServerProcess {
    pub(crate) fn begin(data: &Path) -> Self {
        let mut child = spawn(data);
        let (says, said) = mpsc::channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            let mut line = String::new();
            let _ = says.send(stdout.read_line(&mut line).map(|_| line));
        });
        let Ok(line) = said.recv_timeout(Duration::from_secs(60)) else {
            child.kill().unwrap();
            panic!("no greeting within a minute");
        };
        let line = line.unwrap();
        let greeting: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no greeting: {line}"));
        Self { url: greeting["url"].as_str().unwrap().to_owned(), child }
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// SIGKILL: no handler runs, nothing is flushed.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The requests and the answers.
#[derive(Default)]
struct Auditor {
    /// Each job, and whether the server has confirmed it.
    jobs: BTreeMap<String, bool>,
    /// How many times a person decided that a job shall be paid for again.
    again: BTreeMap<String, usize>,
}

impl Auditor {
    /// Repeats every unconfirmed request, under the same key as before.
    async fn ask(&mut self, http: &Client, url: &str) {
        for (job, taken) in self.jobs.iter_mut().filter(|(_, taken)| !**taken) {
            let body = json!({ "kind": "worker", "message": job });
            let asked =
                http.post(format!("{url}/v1/agents")).header("idempotency-key", job.as_str()).json(&body);
            *taken = asked.send().await.is_ok_and(|answer| answer.status() == StatusCode::CREATED.as_u16());
        }
    }

    /// Answers each question about an interrupted payment with retry or give up.
    async fn answer(&mut self, http: &Client, url: &str, dice: &mut Dice) -> Option<()> {
        let open = http.get(format!("{url}/v1/questions?status=open&limit=200")).send().await.ok()?;
        let open: Value = open.json().await.ok()?;
        for question in open["data"].as_array()? {
            let text = question["text"].as_str().unwrap_or_default();
            let job = self.jobs.keys().find(|job| text.contains(&format!("\"{job}\""))).cloned()?;
            let retry = dice.below(2) == 0;
            // Counted before it is sent: whether the answer arrived may stay unknown.
            *self.again.entry(job).or_default() += usize::from(retry);
            let body = json!({ "answer": if retry { "retry" } else { "give up" } });
            let id = question["id"].as_str().unwrap_or_default();
            let _ = http.post(format!("{url}/v1/questions/{id}/answer")).json(&body).send().await;
        }
        Some(())
    }

    /// How many agents have ended.
    async fn ended(http: &Client, url: &str) -> Option<usize> {
        let (mut ended, mut cursor) = (0, String::new());
        loop {
            let page = http.get(format!("{url}/v1/agents?limit=200{cursor}")).send().await.ok()?;
            let page: Value = page.json().await.ok()?;
            let statuses = page["data"].as_array()?.iter().filter_map(|agent| agent["status"].as_str());
            ended += statuses.filter(|status| ["succeeded", "failed", "cancelled"].contains(status)).count();
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Some(ended),
            }
        }
    }

    /// Verifies the database and the shop's records.
    async fn judge(&self, store: &SqliteStore, paid: &BTreeMap<String, usize>) {
        let violations: Vec<String> =
            audit(store, None).await.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(violations, [""; 0]);
        let page = || Page { limit: u32::MAX, ..Page::default() };
        let query = entourage_store::AgentQuery { page: page(), ..Default::default() };
        let agents = store.agents(&Scope::All, query).await.unwrap();
        let mut heard: BTreeMap<String, usize> = BTreeMap::new();
        for agent in &agents {
            assert_eq!(agent.status, Status::Succeeded, "{agent:?}");
            for item in store.items(&Scope::All, ItemQuery::of(agent.id, 0, 100)).await.unwrap() {
                if let ItemBody::Message(message) = item.body {
                    *heard.entry(message.text).or_default() += 1;
                }
            }
        }
        let query = EntityQuery { page: page(), ..EntityQuery::records::<Note>() };
        let mut notes: BTreeMap<String, usize> = BTreeMap::new();
        for entity in store.entities(&Scope::All, query).await.unwrap() {
            *notes.entry(Note::from_entity(&entity).unwrap().title).or_default() += 1;
        }
        for job in self.jobs.keys() {
            assert_eq!(heard.get(job), Some(&1), "messages lost or doubled: `{job}`");
            assert_eq!(notes.get(job), Some(&1), "notes lost or doubled: `{job}`");
            let allowed = 1 + self.again.get(job).copied().unwrap_or_default();
            let times = paid.get(job).copied().unwrap_or_default();
            assert!(times <= allowed, "`{job}` was paid for {times} times, {allowed} were allowed");
            assert!(
                times >= 1 || self.again.contains_key(job),
                "`{job}` was never paid for, and nobody was asked whether it was"
            );
        }
        assert_eq!(agents.len(), self.jobs.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_repeatedly_loses_and_repeats_no_work() {
    let kills = std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12);
    let directory = tempfile::tempdir().unwrap();
    let (data, paid) = (directory.path().join("data"), Paid::default());
    let url = world(Arc::clone(&paid)).await;
    std::fs::create_dir_all(data.join("kinds")).unwrap();
    std::fs::write(data.join("kinds/worker.md"), KIND).unwrap();
    // On a busy machine several kills in a row can come before a process has written anything.
    let settings = format!(
        "[dispatch]\ngive_up_after = 1000\n[models]\ndefault = \"compatible::fake\"\n[models.providers.compatible]\nbase_url = \"{url}/v1\"\n\
         [models.profiles.\"compatible::fake\"]\nnative_tools = true\n\
         [[tools.mcp]]\nname = \"shop\"\nurl = \"{url}/mcp\"\n"
    );
    std::fs::write(data.join("entourage.toml"), settings).unwrap();
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    entourage_llm::install_tls();
    let (mut dice, http, mut auditor) = (Dice::new(seed), Client::new(), Auditor::default());
    for kill in 0..kills {
        if dice.below(8) == 0 {
            // Killed while it opens its database, or takes up what was interrupted.
            let mut child = spawn(&data);
            thread::sleep(Duration::from_millis(dice.below(40)));
            child.kill().unwrap();
            child.wait().unwrap();
            continue;
        }
        let life = ServerProcess::begin(&data);
        auditor.jobs.extend((0..2).map(|n| (format!("job-{kill}-{n}"), false)));
        let (url, moment) = (life.url.clone(), Duration::from_millis(dice.below(150)));
        let busy = async {
            auditor.ask(&http, &url).await;
            auditor.answer(&http, &url, &mut dice).await;
            std::future::pending::<()>().await;
        };
        let _ = tokio::time::timeout(moment, busy).await;
        life.kill();
    }
    let mut life = ServerProcess::begin(&data);
    let calm = async {
        loop {
            auditor.ask(&http, &life.url).await;
            auditor.answer(&http, &life.url, &mut dice).await;
            if Auditor::ended(&http, &life.url).await == Some(auditor.jobs.len()) {
                return;
            }
            // Another process works, and is polled again and again: leave it the cores in between.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    // The work that thousands of kills interrupted takes its time.
    let quiet = tokio::time::timeout(Duration::from_secs(90 + kills / 5), calm).await;
    life.child.kill().unwrap();
    life.child.wait().unwrap();
    let store = SqliteStore::open(data.join("entourage.db"), Settings::default()).unwrap();
    let paid = paid.lock().unwrap().clone();
    if quiet.is_err() {
        let query = entourage_store::AgentQuery::default();
        let agents = store.agents(&Scope::All, query).await.unwrap();
        let stands: Vec<_> =
            agents.iter().map(|agent| (&agent.title, agent.status, agent.waiting_on)).collect();
        panic!("not quiet: {stands:?}\n{:?}\n{:?}", auditor.jobs, audit(&store, None).await.unwrap());
    }
    auditor.judge(&store, &paid).await;
    let retried: usize = auditor.again.values().sum();
    assert!(kills < 100 || retried > 0, "no kill met a payment under way");
    println!(
        "{kills} kills, {} jobs, {} payments, {retried} of them asked for again",
        auditor.jobs.len(),
        paid.values().sum::<usize>()
    );
}
