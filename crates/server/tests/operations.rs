//! Health, readiness and metrics, and the responses when the store fails.

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::Engine;
use entourage_llm::{Connection, Gated, Price, Script, ScriptedModel};
use entourage_server::{Settings, serve_probes};
use entourage_store::{Commit, Committed, Error, Layered, MemoryStore, Store, StoreLayer};
use entourage_store_sqlite::SqliteStore;
use reqwest::Method;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{settings, token_of},
    broken::Broken,
    site::{Site, send},
};

#[tokio::test]
async fn a_healthy_engine_is_up_and_ready() {
    let site = Site::open().await;
    assert_eq!(site.get("/healthz").await.status, 204);
    assert_eq!(site.get("/readyz").await.status, 204);
}

#[tokio::test]
async fn a_process_that_only_works_answers_probes_and_nothing_else() {
    let engine = Site::open().await.engine;
    let listener = entourage_server::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let served = tokio::spawn(serve_probes(listener, engine, Settings::default(), stop.clone()));
    let get = async |path: &str| {
        let answer = reqwest::get(format!("{base}{path}")).await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!((get("/healthz").await.0, get("/readyz").await.0), (204, 204));
    let (status, metrics) = get("/metrics").await;
    assert!(status == 200 && metrics.contains("entourage_"), "{metrics}");
    for path in ["/v1/agents", "/console", "/"] {
        let (status, problem) = get(path).await;
        assert!(status == 404 && problem.contains("urn:entourage:problem:no-route"), "{path}: {problem}");
    }
    stop.cancel();
    served.await.unwrap();
}

#[tokio::test]
async fn request_metrics_are_labelled_by_route_and_status_not_by_id() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    site.get(&format!("/v1/agents/{id}")).await.expect(200);
    site.get("/v1/agents/agt_1").await.problem(400, "invalid-path");
    send(site.request(Method::from_bytes(b"BREW").unwrap(), "/v1/kinds"))
        .await
        .problem(405, "method-not-allowed");
    let metrics = site.get("/metrics").await;
    assert!(metrics.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
    let counted = |status: &str| {
        metrics.text.lines().any(|line| {
            line.starts_with("entourage_http_requests_total{")
                && line.contains("route=\"/v1/agents/{id}\"")
                && line.contains(&format!("status=\"{status}\""))
        })
    };
    assert!(counted("200") && counted("400"), "{}", metrics.text);
    assert!(metrics.text.contains("entourage_http_request_duration_seconds_bucket{"), "{}", metrics.text);
    assert!(!metrics.text.contains(&id) && !metrics.text.contains("BREW"), "{}", metrics.text);
}

/// The value of the one series whose line begins with `series`.
#[track_caller]
fn value(metrics: &str, series: &str) -> f64 {
    let line = metrics.lines().find(|line| line.starts_with(series));
    let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no {series} in {metrics}"))
}

/// An engine whose agent writes a note, with a gate and a price for its model.
fn priced() -> Engine {
    let note = Script::call("create_note", json!({"title": "Found", "content": "It is blue."}));
    let price = Price { input: 1.0, output: 2.0, cached: None, cache_written: None };
    let model = ScriptedModel::new([note, Script::text("It is noted.")]).priced(price);
    let model = Gated::new(model, Connection::default());
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let store = SqliteStore::in_memory().expect("a store");
    Engine::builder(Arc::new(store), Arc::new(model)).tools(tools).build()
}

#[tokio::test]
async fn metrics_cover_runs_steps_tokens_and_cost_without_agent_ids() {
    // This model has no known price.
    Site::open().await.done("hello").await;
    let site = Site::serving(priced(), Settings::default()).await;
    let id = site.make("note it").await;
    let metrics = site.get("/metrics").await.text;
    assert!(value(&metrics, "entourage_queue_age_seconds") > 0.0, "its wake-up is due, and nobody comes");
    site.work();
    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;

    // Streams report the end when it is committed; it is counted after that.
    let succeeded = "entourage_runs_total{status=\"succeeded\",stop_reason=\"completed\"}";
    let measured = async {
        loop {
            let metrics = site.get("/metrics").await.text;
            let busy = value(&metrics, "entourage_dispatch_places{state=\"busy\"}");
            if value(&metrics, succeeded) >= 2.0 && busy == 0.0 {
                break metrics;
            }
        }
    };
    let metrics = tokio::time::timeout(Duration::from_secs(20), measured).await.expect("a run that ended");
    assert_eq!(value(&metrics, "entourage_queue_age_seconds"), 0.0, "it was served");
    for (series, least) in [
        ("entourage_steps_total{step=\"model\"}", 3.0),
        ("entourage_steps_total{step=\"tool\"}", 1.0),
        ("entourage_tokens_total{model=\"scripted::script\",direction=\"in\"}", 30.0),
        ("entourage_tokens_total{model=\"scripted::script\",direction=\"out\"}", 15.0),
        ("entourage_cached_tokens_total{model=\"scripted::script\"}", 0.0),
        ("entourage_reasoning_tokens_total{model=\"scripted::script\"}", 0.0),
        // Two answers of 10 tokens in and 5 out, at one and two dollars for a million.
        ("entourage_cost_nanos_total{model=\"scripted::script\"}", 40_000.0),
        ("entourage_unpriced_calls_total{model=\"scripted::script\"}", 1.0),
        ("entourage_dispatch_places{state=\"free\"}", 1.0),
        ("entourage_dispatch_ready", 0.0),
        ("entourage_gate_door{model=\"default\",door=\"open\"}", 1.0),
        ("entourage_gate_in_flight{model=\"default\"}", 0.0),
        ("entourage_gate_waiting{model=\"default\"}", 0.0),
        // Three of the run that answers at once, four of the one with a call.
        ("entourage_store_commit_seconds_count", 7.0),
        ("entourage_store_read_seconds_count", 2.0),
    ] {
        assert!(value(&metrics, series) >= least, "{series}: {metrics}");
        let name = series.split('{').next().unwrap().trim_end_matches("_count");
        assert!(metrics.contains(&format!("# HELP {name} ")), "{name} is not described: {metrics}");
    }
    assert!(!metrics.contains(&id) && !metrics.contains("agt_"), "an id makes a series: {metrics}");
}

#[tokio::test]
async fn a_full_disk_is_named_and_makes_the_engine_not_ready() {
    let store = Broken::with(|| Error::DiskFull("no space left on device".into()));
    let site = Site::over(Arc::new(store), Settings::default()).await;
    let answer = site.post("/v1/agents", &json!({"message": "hello"})).await;
    assert!(answer.problem(503, "disk-full").detail.contains("Free some space"));
    assert!(answer.headers.contains_key("retry-after"));
    site.get("/readyz").await.problem(503, "disk-full");
    assert_eq!(site.get("/healthz").await.status, 204);
}

/// A database that another program holds, until it is released.
struct LockedDatabase(Arc<AtomicBool>);

impl LockedDatabase {
    fn check(&self) -> Result<(), Error> {
        let (cause, detail) = ("another program holds it", "database is locked in /var/secret".to_owned());
        if self.0.load(Ordering::SeqCst) { Err(Error::Unavailable { cause, detail }) } else { Ok(()) }
    }
}

#[async_trait]
impl StoreLayer for LockedDatabase {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed, Error> {
        self.check()?;
        store.commit(commit).await
    }

    async fn ready(&self, store: &Arc<dyn Store>) -> Result<(), Error> {
        self.check()?;
        store.ready().await
    }
}

#[tokio::test]
async fn readiness_fails_with_the_cause_until_commits_succeed() {
    let held = Arc::new(AtomicBool::new(true));
    let store = Layered::new(Arc::new(MemoryStore::default()), LockedDatabase(Arc::clone(&held)));
    let site = Site::over(Arc::new(store), Settings::default()).await;
    assert_eq!(site.get("/v1/agents").await.status, 200, "it can be read");
    let problem = site.get("/readyz").await.problem(503, "store-unavailable");
    assert!(problem.detail.contains("another program holds it"), "{}", problem.detail);
    assert!(!problem.detail.contains("secret"), "{}", problem.detail);
    held.store(false, Ordering::SeqCst);
    assert_eq!(site.get("/readyz").await.status, 204);
}

/// A store that never says whether it is ready.
struct HungStore;

#[async_trait]
impl StoreLayer for HungStore {
    async fn ready(&self, _: &Arc<dyn Store>) -> Result<(), Error> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_readiness_probe_is_answered_while_the_store_hangs() {
    let store = Layered::new(Arc::new(MemoryStore::default()), HungStore);
    let site = Site::over(Arc::new(store), Settings::default()).await;
    let problem = site.get("/readyz").await.problem(503, "store-unavailable");
    assert!(problem.detail.contains("has not answered for 2 seconds"), "{}", problem.detail);
}

#[tokio::test]
async fn a_problem_does_not_reveal_the_details_of_a_store_failure() {
    let store = Broken::with(|| Error::Database("near \"SELECT\": syntax error in /var/secret".into()));
    let site = Site::over(Arc::new(store), Settings::default()).await;
    for path in ["/v1/agents", "/v1/questions", "/readyz"] {
        let problem = site.get(path).await.problem(503, "store-unavailable");
        assert!(!problem.detail.contains("secret"), "{}", problem.detail);
    }
}

/// Corruption is reported as such, since waiting does not help.
#[tokio::test]
async fn a_damaged_database_is_not_ready_and_its_problem_names_doctor() {
    let store = Broken::with(|| Error::Damaged("malformed at /var/secret".into()));
    let site = Site::over(Arc::new(store), Settings::default()).await;
    let problem = site.get("/readyz").await.problem(503, "store-unavailable");
    assert!(problem.detail.contains("entourage doctor"), "{}", problem.detail);
    assert!(!problem.detail.contains("secret"), "{}", problem.detail);
}

#[tokio::test]
async fn a_stopping_server_answers_503_with_retry_after() {
    let store = Broken::with(|| Error::Closed);
    let site = Site::over(Arc::new(store), Settings::default()).await;
    for path in ["/v1/agents", "/readyz"] {
        let answer = site.get(path).await;
        answer.problem(503, "shutting-down");
        assert_eq!(answer.headers["retry-after"], "2");
    }
}

#[tokio::test]
async fn a_panic_fails_only_its_own_request() {
    let store = Broken::with(|| panic!("a secret slipped out"));
    let site = Site::over(Arc::new(store), Settings::default()).await;
    let problem = site.get("/v1/agents").await.problem(500, "internal");
    assert!(!problem.detail.contains("secret"), "{}", problem.detail);
    assert_eq!(site.get("/healthz").await.status, 204);
}

/// Texts that only one test sends, in a message and in a query.
const WORDS: &str = "private words 5e1f";
const COLOUR: &str = "colour-5e1f";
/// The password of an account.
const PASSWORD: &str = "password-5e1f";

/// The log events of all threads about requests for agents, or with the texts above.
static LOG: Mutex<String> = Mutex::new(String::new());

/// Writes to that log. Each event is written at once.
struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let event = String::from_utf8_lossy(bytes);
        if ["route=\"/v1/agents", WORDS, COLOUR, PASSWORD, "$argon2id", "eyJ"]
            .iter()
            .any(|words| event.contains(words))
        {
            LOG.lock().unwrap_or_else(PoisonError::into_inner).push_str(&event);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The engine, its store and its dispatcher log on threads of their own, so the log covers all threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trace_log_names_the_agent_but_no_message_text_no_token_and_no_password() {
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_writer(|| Log)
        .init();
    let token = token_of("alice");
    let site = Site::with(Settings { registration: true, ..settings() }).await.bearing(&token);
    for (path, status) in [("register", 201), ("register", 409), ("login", 200)] {
        let given = json!({"email": "ann@example.com", "password": PASSWORD});
        site.post(&format!("/api/auth/{path}"), &given).await.expect(status);
    }
    let id = site.done(WORDS).await;
    site.get(&format!("/v1/agents/{id}?{COLOUR}=red")).await;
    let logged = LOG.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(logged.contains(&format!("id={id}")) && logged.contains("route=\"/v1/agents\""), "{logged}");
    for secret in [WORDS, &token, COLOUR, PASSWORD, "$argon2id"] {
        let line = logged.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is logged");
    }
}

#[tokio::test]
async fn metrics_require_a_token_if_the_settings_say_so() {
    let site = Site::with(Settings { metrics_need_token: true, ..settings() }).await;
    site.get("/metrics").await.problem(401, "unauthorized");
    assert_eq!(site.get("/healthz").await.status, 204);
    assert_eq!(site.bearing(&token_of("alice")).get("/metrics").await.status, 200);
    assert_eq!(Site::with(settings()).await.get("/metrics").await.status, 200);
}
