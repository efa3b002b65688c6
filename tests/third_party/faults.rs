//! Faults of a model, on each wire and at each place of a run: every run ends with an answer or
//! with a failure that is reported. The provider is a third-party fake that fails on demand;
//! afterwards it judges the requests (`tests/services/run.sh`).

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use crate::one_kind;
use async_trait::async_trait;
use entourage_llm::{Connection, Provider, Router, Settings};
use entourage_store::Page;
use entourage_testkit::{FakeClock, World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::{ItemBody, Status, StopReason, ToolSpec};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How long an answer may be silent; a stall is longer.
const SILENCE: f64 = 1.0;

/// How a run must end.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// With an answer.
    Answered,
    /// With a failure that the user sees.
    Failed,
}

/// The place in a run of the fault.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Backing {
    /// At the first model call.
    First,
    /// At the call that reads a tool's output.
    AfterTool,
}

/// The faults, in the fake's terms, and how the run ends.
fn faults() -> Vec<(&'static str, Value, End)> {
    let stream =
        |kind: &str| json!({"type": "stream_fault", "kind": kind, "after_chunks": 3, "stall_seconds": 20});
    vec![
        ("429-after", json!({"type": "fail", "status": 429, "retry_after": 1, "times": 2}), End::Answered),
        ("429", json!({"type": "fail", "status": 429, "times": 2}), End::Answered),
        ("500", json!({"type": "fail", "status": 500, "times": 2}), End::Answered),
        ("503", json!({"type": "fail", "status": 503, "retry_after": 1}), End::Answered),
        ("outage", json!({"type": "fail", "status": 503, "times": null}), End::Failed),
        ("key", json!({"type": "fail", "status": 401, "times": null}), End::Failed),
        ("too-long", json!({"type": "fail", "status": 400, "times": null}), End::Failed),
        ("stall", stream("stall"), End::Answered),
        ("slow", json!({"type": "slow_first_token", "seconds": 0.5}), End::Answered),
        ("reset", stream("disconnect"), End::Answered),
        ("truncated", stream("truncate"), End::Answered),
        ("garbage", stream("malformed"), End::Answered),
        ("empty", json!({"type": "reply", "text": ""}), End::Answered),
        ("at-the-limit", json!({"type": "reply", "text": "It is", "finish_reason": "length"}), End::Answered),
        ("bad-arguments", json!({"type": "tool_fault", "kind": "malformed_arguments"}), End::Answered),
        ("unknown-tool", json!({"type": "tool_fault", "kind": "unknown_tool"}), End::Answered),
    ]
}

/// Configures the fake's next behaviour for one model only.
async fn plan(base: &str, model: &str, mut fault: Value) {
    fault["match"] = json!({ "model": model });
    let body = json!({ "behaviors": [fault] }).to_string();
    let host = base.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = format!("POST /_llmock/scenario HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

/// A pure tool; its first call makes the fake fail, if that is planned.
struct LookUp {
    base: String,
    model: String,
    fault: Option<Value>,
    calls: Arc<AtomicU32>,
}

#[async_trait]
impl Tool for LookUp {
    fn name(&self) -> &'static str {
        "look_up"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new(
            "look_up",
            "Looks something up.",
            json!({
                "type": "object",
                "properties": { "what": { "type": "string" } },
                "required": ["what"],
                "additionalProperties": false
            }),
        ))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        if self.calls.fetch_add(1, Ordering::SeqCst) == 0
            && let Some(fault) = &self.fault
        {
            plan(&self.base, &self.model, fault.clone()).await;
        }
        Ok(Outcome::text("214 metres"))
    }
}

/// How much faster a world's clock goes than the machine's: the pauses before further attempts are long.
const FASTER: u32 = 8;

/// Advances a world's clock with the machine's, but faster, for as long as it is polled.
async fn advance_with_real_time(clock: FakeClock) {
    let mut then = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = Instant::now();
        clock.advance((now - std::mem::replace(&mut then, now)) * FASTER);
    }
}

/// Makes one run with one fault; returns what is wrong about its end.
async fn run_with_fault(
    provider: Provider,
    path: &str,
    (name, fault, end): (&str, Value, End),
    place: Backing,
) -> Option<String> {
    let base = super::named("LLMOCK_URL");
    let model = format!("{}-{name}-{place:?}", provider.name()).to_lowercase();
    let connection = Connection {
        base_url: Some(format!("{base}{path}")),
        key: Some(String::from("not-a-key").into()),
        silence_seconds: SILENCE,
        ..Connection::default()
    };
    let settings = Settings { providers: BTreeMap::from([(provider, connection)]), ..Settings::default() };
    let router = Router::new(settings, format!("{}::{model}", provider.name())).unwrap();
    let (first, later) = match place {
        Backing::First => (Some(fault), None),
        Backing::AfterTool => (None, Some(fault)),
    };
    if let Some(fault) = first {
        plan(&base, &model, fault).await;
    }
    let call = json!([{ "name": "look_up", "arguments": { "what": "bridge" } }]);
    plan(&base, &model, json!({ "type": "reply", "tool_calls": call })).await;
    let calls = Arc::new(AtomicU32::new(0));
    let tool = LookUp { base, model, fault: later, calls: Arc::clone(&calls) };
    // A clock that shows one minute for the whole run: a repeated request is the same to the byte.
    let clock = FakeClock::default();
    let world = World::builder(router)
        .tools(Toolbox::new().with(tool))
        .kinds(one_kind(|kind| kind.limits.max_attempts = 3))
        .clock(clock.clone())
        .start()
        .await;
    let root = world.ask("Look up how long the bridge is.").await;
    let ended = tokio::select! {
        ended = world.ended(root.id) => ended,
        () = advance_with_real_time(clock) => unreachable!("a clock never ends"),
    };
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    let lines = plain(&items);
    let fine = match (end, ended.status) {
        (End::Answered, Status::Succeeded) => match &items.last().unwrap().body {
            ItemBody::Turn(turn) if turn.text.starts_with("Hello!") && turn.text.ends_with('.') => Ok(()),
            _ => Err(String::from("the answer is not whole")),
        },
        (End::Failed, Status::Failed) => match runs[0].stop_reason {
            Some(StopReason::ModelFailed) if runs[0].error.is_some() => Ok(()),
            other => Err(format!("it stopped for {other:?}")),
        },
        (_, status) => Err(format!("it ended {status:?}, not {end:?}")),
    };
    let fine = fine.and_then(|()| match (place, calls.load(Ordering::SeqCst)) {
        (Backing::AfterTool, 1) | (Backing::First, 0 | 1) => Ok(()),
        (_, many) => Err(format!("the tool was called {many} times")),
    });
    fine.err().map(|wrong| format!("{name} at {place:?}: {wrong}\n{}", lines.join("\n")))
}

async fn assert_every_fault_is_endured(provider: Provider, path: &str) {
    let places = [Backing::First, Backing::AfterTool];
    let cases = faults().into_iter().flat_map(|fault| places.map(|place| (fault.clone(), place)));
    let wrong = join_all(cases.map(|(fault, place)| run_with_fault(provider, path, fault, place))).await;
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test]
async fn every_run_over_openai_chat_ends_after_a_fault() {
    assert_every_fault_is_endured(Provider::OpenAi, "/v1").await;
}

#[tokio::test]
async fn every_run_over_openai_responses_ends_after_a_fault() {
    assert_every_fault_is_endured(Provider::OpenAiResp, "/v1").await;
}

#[tokio::test]
async fn every_run_over_anthropic_ends_after_a_fault() {
    assert_every_fault_is_endured(Provider::Anthropic, "/anthropic").await;
}

#[tokio::test]
async fn every_run_over_a_compatible_server_ends_after_a_fault() {
    assert_every_fault_is_endured(Provider::Compatible, "/v1").await;
}
