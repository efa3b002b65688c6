//! Traces and logs of what agents did: one trace for each tree, log lines with their ids, and no
//! agent waits for a collector.

use std::{
    io::Write,
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect},
    routing::post,
};
use entourage::telemetry::{Exporter, Settings, exporter};
use entourage_engine::{NewAct, NewProject, Signal, Span, SpanId, TraceId, Tracer};
use entourage_llm::{Error, Message, Request, Script, ScriptedModel};
use entourage_testkit::{Faults, World};
use entourage_types::{Action, AgentId, Answer, EventBody, RunId, Status, Time};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::within;

const PATIENCE: Duration = Duration::from_secs(10);
/// Two runs, two tool calls and four model calls.
const SPANS: usize = 8;

/// A collector: what it received, and with which key.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<(Value, String)>>>);

impl Collector {
    /// Listens; returns its address too.
    async fn start() -> (Self, String) {
        async fn take(
            State(collector): State<Collector>,
            headers: HeaderMap,
            Json(body): Json<Value>,
        ) -> Json<Value> {
            let key = headers.get("x-key").map(|key| key.to_str().unwrap().to_owned());
            collector.0.lock().unwrap().push((body, key.unwrap_or_default()));
            Json(json!({}))
        }
        let collector = Self::default();
        let routes = Router::new().route("/v1/traces", post(take)).with_state(collector.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (collector, address)
    }

    fn requests(&self) -> Vec<(Value, String)> {
        self.0.lock().unwrap().clone()
    }

    fn spans(&self) -> Vec<Value> {
        let of = |(body, _): &(Value, String)| {
            body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
        };
        self.requests().iter().flat_map(of).collect()
    }

    /// The spans of the delegation, all of them: an agent that works for another reports its end
    /// when the other may have ended too.
    async fn spans_of_delegation(&self, tracer: &Exporter) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            tracer.flush(PATIENCE).await;
            let spans = self.spans();
            if spans.len() >= SPANS || begun.elapsed() > PATIENCE {
                return spans;
            }
            tokio::task::yield_now().await;
        }
    }
}

fn exporter_to(address: &str, content: bool) -> Arc<Exporter> {
    let settings = Settings { otlp_endpoint: Some(address.to_owned()), content };
    let variable = |name: &str| (name == "OTEL_EXPORTER_OTLP_HEADERS").then(|| "x-key=sesame".to_owned());
    exporter(&settings, variable).unwrap().unwrap()
}

/// An orchestrator delegates, and the researcher asks the user.
fn delegation() -> ScriptedModel {
    ScriptedModel::deciding(|request: &Request| {
        let researcher = request.system.contains("You are the Researcher");
        Some(Ok(match (researcher, request.messages.last()) {
            (false, Some(Message::User(_))) => {
                Script::call("send_message", json!({"recipient": "researcher", "message": "look it up"}))
            }
            (true, Some(Message::User(_))) => Script::call("ask_user", json!({"question": "Which colour?"})),
            _ => Script::text("It is crimson."),
        }))
    })
}

/// Runs the delegation with a restart between question and answer, and returns the root.
async fn run_delegation(tracer: &Arc<Exporter>) -> AgentId {
    let tracer: Arc<dyn Tracer> = Arc::clone(tracer) as _;
    let world = World::builder(delegation())
        .tools(entourage_tools::builtin(entourage_tools::Settings::default()))
        .engine(move |engine| engine.tracer(Some(Arc::clone(&tracer))))
        .start()
        .await;
    let root = world.ask("What colour?").await.id;
    let question = world.question(root).await;
    let world = world.restart(Faults::default()).await;
    world.clock().advance(Duration::from_secs(3600));
    world.client().answer(question.id, Answer::Text("dark red".into())).await.unwrap();
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    root
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key)?;
    found["value"]["stringValue"].as_str().or_else(|| found["value"]["intValue"].as_str())
}

#[tokio::test]
async fn a_tree_is_one_trace_through_delegation_and_a_restart() {
    let (collector, address) = Collector::start().await;
    let tracer = exporter_to(&address, false);
    let root = run_delegation(&tracer).await;
    let spans = collector.spans_of_delegation(&tracer).await;
    assert!(
        spans.iter().all(|span| span["traceId"] == TraceId::of(root).to_string()),
        "one trace: {spans:#?}"
    );
    let only = |name: &str, kind: &str| {
        let fits = |span: &&Value| span["name"] == name && attribute(span, "gen_ai.agent.name") == Some(kind);
        let found: Vec<_> = spans.iter().filter(fits).collect();
        assert_eq!(found.len(), 1, "{name} of {kind}: {spans:#?}");
        found[0]
    };
    let orchestrator = only("invoke_agent assistant", "assistant");
    let handing_over = only("execute_tool send_message", "assistant");
    let researcher = only("invoke_agent researcher", "researcher");
    let asking = only("execute_tool ask_user", "researcher");
    assert_eq!(orchestrator.get("parentSpanId"), None);
    assert_eq!(handing_over["parentSpanId"], orchestrator["spanId"]);
    assert_eq!(researcher["parentSpanId"], handing_over["spanId"]);
    assert_eq!(asking["parentSpanId"], researcher["spanId"]);
    let chats: Vec<_> = spans.iter().filter(|span| span["name"] == "chat script").collect();
    assert_eq!(chats.len(), 4);
    let parents = [&orchestrator["spanId"], &researcher["spanId"]];
    for parent in parents {
        assert_eq!(chats.iter().filter(|chat| chat["parentSpanId"] == *parent).count(), 2);
    }
    let kinds: Vec<_> = [orchestrator, chats[0]].iter().map(|span| span["kind"].clone()).collect();
    assert_eq!(kinds, [1, 3]);
    let said = |key| attribute(chats[0], key);
    assert_eq!(
        [said("gen_ai.operation.name"), said("gen_ai.provider.name"), said("gen_ai.response.model")],
        [Some("chat"), Some("scripted"), Some("script")]
    );
    assert_eq!(
        [said("gen_ai.usage.input_tokens"), said("gen_ai.usage.output_tokens")],
        [Some("10"), Some("5")]
    );
    assert_eq!(attribute(orchestrator, "gen_ai.usage.input_tokens"), Some("20"));
    let root = root.to_string();
    assert!(spans.iter().all(|span| attribute(span, "gen_ai.conversation.id") == Some(&root)));
    let length = |span: &Value| {
        let nanos = |field: &str| span[field].as_str().unwrap().parse::<u64>().unwrap();
        nanos("endTimeUnixNano") - nanos("startTimeUnixNano")
    };
    assert_eq!(length(asking), 3_600_000_000_000, "an hour passed before the answer");
    let (body, key) = &collector.requests()[0];
    assert_eq!(key, "sesame");
    assert!(body.to_string().contains("service.name"));
    for content in ["look it up", "dark red", "crimson", "colour"] {
        assert!(!format!("{spans:?}").contains(content), "`{content}` is content");
    }
    assert_eq!(tracer.dropped(), 0);
}

#[tokio::test]
async fn spans_contain_content_if_the_operator_enables_it() {
    let (collector, address) = Collector::start().await;
    let tracer = exporter_to(&address, true);
    run_delegation(&tracer).await;
    let spans = collector.spans_of_delegation(&tracer).await;
    let with = |key: &str, text: &str| {
        spans.iter().any(|span| attribute(span, key).is_some_and(|t| t.contains(text)))
    };
    assert!(with("gen_ai.output.messages", "It is crimson."), "{spans:#?}");
    assert!(with("gen_ai.tool.call.arguments", "look it up"));
    assert!(with("gen_ai.tool.call.result", "dark red"));
}

fn span() -> Span {
    let (root, run, at) = (AgentId::new(), RunId::new(), Time::from_micros(1));
    Span {
        trace: TraceId::of(root),
        id: SpanId::of_run(run),
        parent: None,
        name: "invoke_agent".into(),
        remote: false,
        began: at,
        ended: at,
        attributes: Vec::new(),
        error: None,
    }
}

#[tokio::test]
async fn a_collector_that_never_answers_delays_no_agent() {
    // It accepts connections and never responds.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let tracer = exporter_to(&format!("http://{}", mute.local_addr().unwrap()), false);
    let began = Instant::now();
    for _ in 0..20_000 {
        tracer.ended(span());
    }
    assert!(tracer.dropped() > 10_000, "what cannot wait is dropped and counted: {}", tracer.dropped());
    run_delegation(&tracer).await;
    tracer.flush(Duration::from_millis(50)).await;
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "not as long as one request may take: {:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_session_summary_is_a_span_of_the_run_that_closes_the_session() {
    let (collector, address) = Collector::start().await;
    let tracer = exporter_to(&address, false);
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("They spoke of boats."))));
    let traces: Arc<dyn Tracer> = Arc::clone(&tracer) as _;
    let builder = World::builder(model).engine(move |engine| engine.tracer(Some(Arc::clone(&traces))));
    let world = builder.start().await;
    let root = world.ask("Tell me of boats.").await.id;
    world.ended(root).await;
    world.client().intervene(root, Action::CloseSession, None).await.unwrap();
    let mut watch = world.client().watch(root, 0).await.unwrap();
    within("the session is closed", async {
        loop {
            if let Signal::Event(event) = watch.next().await.unwrap()
                && matches!(event.body, EventBody::Session { .. })
            {
                return;
            }
        }
    })
    .await;
    // Exported after the commit.
    let all_told = async {
        while collector.spans().len() < 4 {
            tracer.flush(PATIENCE).await;
        }
    };
    tokio::time::timeout(PATIENCE, all_told).await.expect("two runs, a request each");
    let spans = collector.spans();
    let named = |name: &str| spans.iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
    let (runs, requests) = (named("invoke_agent assistant"), named("chat script"));
    assert_eq!((runs.len(), requests.len()), (2, 2), "{spans:#?}");
    for (run, request) in runs.iter().zip(requests) {
        assert_eq!(request["parentSpanId"], run["spanId"]);
        assert_eq!(
            attribute(run, "gen_ai.usage.input_tokens"),
            attribute(request, "gen_ai.usage.input_tokens")
        );
    }
}

// In paused time, which advances whenever nothing happens: failed exports are retried after pauses.
#[tokio::test(start_paused = true)]
async fn undelivered_spans_are_counted_as_dropped() {
    let address = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", gone.local_addr().unwrap())
    };
    let tracer = exporter_to(&address, false);
    tracer.ended(span());
    tracer.flush(PATIENCE).await;
    assert_eq!(tracer.dropped(), 1);
}

/// Nothing that is sent to a collector goes to an address that the collector names.
#[tokio::test]
async fn the_exporter_follows_no_redirect() {
    let ((other, elsewhere), asked) = (Collector::start().await, Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let take = async move || match count.fetch_add(1, Ordering::SeqCst) {
        0 => Redirect::temporary(&format!("{elsewhere}/v1/traces")).into_response(),
        _ => StatusCode::OK.into_response(),
    };
    let routes = Router::new().route("/v1/traces", post(take));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let tracer = exporter_to(&address, true);
    tracer.ended(span());
    tracer.flush(PATIENCE).await;
    assert_eq!(
        (other.requests().len(), asked.load(Ordering::SeqCst)),
        (0, 2),
        "it failed, and was tried again"
    );
}

#[test]
fn an_invalid_endpoint_or_header_is_refused_without_showing_the_key() {
    let refused = |endpoint: &str, headers: &'static str| {
        let settings = Settings { otlp_endpoint: Some(endpoint.into()), content: false };
        exporter(&settings, move |name| (name == "OTEL_EXPORTER_OTLP_HEADERS").then(|| headers.into()))
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    assert!(refused("collector:4318/", "").contains("http://127.0.0.1:4318"));
    let wrong = refused("http://localhost:4318", "sesame");
    assert!(wrong.contains("name=value") && !wrong.contains("sesame"), "{wrong}");
    assert!(
        exporter(&Settings::default(), |_| None).unwrap().is_none(),
        "nothing is traced unless asked for"
    );
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_log_line_of_an_activation_names_its_agent_tree_and_run() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().json().with_env_filter("warn").with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // With a second subscriber, a callsite that another test's thread reaches first is not disabled
    // for all.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let model = ScriptedModel::new([]);
    model.push(Err(Error::Denied {
        model: "m".into(),
        lack: entourage_llm::Missing::Credit,
        cause: "no credit".into(),
    }));
    let world = World::builder(model).start().await;
    let root = world.ask("Hello?").await.id;
    assert_eq!(world.ended(root).await.status, Status::Failed);
    let runs = world.client().runs(root, entourage_store::Page::default()).await.unwrap();
    let lines = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let line: Value = lines
        .lines()
        .find(|line| line.contains("no credit"))
        .map(|line| serde_json::from_str(line).unwrap())
        .unwrap();
    let (root, run) = (root.to_string(), runs[0].id.to_string());
    assert_eq!(
        [&line["span"]["agent"], &line["span"]["root"], &line["span"]["run"]],
        [&json!(root), &json!(root), &json!(run)]
    );
}

/// Shows: S5-R124.
#[tokio::test]
async fn a_log_line_says_what_a_message_about_documents_came_to_without_its_words() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().json().with_env_filter("trace").with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let decision = json!({
        "should_create": true, "document_name": "Borscht", "document_content": "# Borscht\n\nBeetroot.",
        "intent_statement": "I'll write down the borscht.",
    });
    let model = ScriptedModel::deciding(move |_| Some(Ok(Script::text(decision.to_string()))));
    let world = World::builder(model).start().await;
    let client = world.client();
    let project = NewProject { name: "Galley".into(), ..NewProject::default() };
    let project = Some(client.create_project(project).await.unwrap().id);
    let message = "How do I cook borscht?".to_owned();
    // A name that is taken is refused: what the store says then names it.
    for _ in 0..2 {
        let new = NewAct { message: message.clone(), project, chat: None, open: None };
        let chat = client.act(new, None).await.unwrap().chat;
        world.ended(chat).await;
    }
    let lines = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let acts = lines.lines().filter(|line| line.contains("a message about documents was acted upon"));
    let acts: Vec<Value> = acts.map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |field: &str| acts.iter().map(|line| line["fields"][field].clone()).collect::<Vec<_>>();
    assert_eq!(said("outcome"), [json!("created"), json!("not_created")]);
    assert_eq!((said("chat"), said("project")), (vec![json!(1), json!(2)], vec![json!(1), json!(1)]));
    assert!(acts.iter().all(|line| line["span"]["run"].is_string() && line["span"]["agent"].is_string()));
    for word in ["borscht", "beetroot", "galley", "cook"] {
        assert!(!lines.to_lowercase().contains(word), "`{word}` is content");
    }
}
