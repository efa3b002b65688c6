//! What a model received can be rebuilt from rows and is proved by the digest in its turn.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    Router,
    extract::State,
    http::{Method, StatusCode},
};
use entourage_engine::{Client, Clock, NewAgent};
use entourage_llm::{
    Connection, Delta, Deltas, Error as ModelError, Model, NoDeltas, Profile, Provider, ProviderModel, Reply,
    Request, Router as Models, Script, ScriptedModel, Settings,
};
use entourage_store::Page;
use entourage_testkit::World;
use entourage_tools::{Effect, Outcome, Toolbox};
use entourage_types::{Asked, Item, ItemBody, RunId, Section, StepKey};
use serde_json::json;

use crate::kit::{Effects, FakeClockExt, TestTool, first_tools, one_kind};

type Received = Arc<Mutex<Vec<String>>>;

/// A provider that keeps what it receives, and answers nothing of use.
async fn provider() -> (String, Received) {
    async fn receive(State(received): State<Received>, body: String) -> StatusCode {
        received.lock().unwrap().push(body);
        StatusCode::BAD_REQUEST
    }
    let received = Received::default();
    let url = serve(Router::new().fallback(receive).with_state(Arc::clone(&received))).await;
    (url, received)
}

/// Serves on a port of its own, and returns the address.
async fn serve(app: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// A server of a weak model that keeps what it receives, and answers with these texts.
#[derive(Clone, Default)]
pub(crate) struct WeakModel {
    received: Received,
    texts: Arc<Mutex<VecDeque<String>>>,
}

impl WeakModel {
    /// The model behind the router, which offers tools as a schema of next actions.
    pub(crate) async fn router(&self) -> Models {
        async fn answer(State(this): State<WeakModel>, method: Method, body: String) -> (StatusCode, String) {
            if method != Method::POST {
                return (StatusCode::NOT_FOUND, String::new());
            }
            this.received.lock().unwrap().push(body);
            let Some(text) = this.texts.lock().unwrap().pop_front() else {
                return (StatusCode::BAD_REQUEST, String::new());
            };
            let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": "stop"});
            let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
            let (said, used) = (json!({"choices": [choice]}), json!({"choices": [], "usage": usage}));
            (StatusCode::OK, format!("data: {said}\n\ndata: {used}\n\ndata: [DONE]\n\n"))
        }
        entourage_llm::install_tls();
        let url = serve(Router::new().fallback(answer).with_state(self.clone())).await;
        let connection = Connection { base_url: Some(url), ..Connection::default() };
        let providers = [(Provider::Compatible, connection)].into();
        Models::new(Settings { providers, ..Settings::default() }, "compatible::tiny-1b").unwrap()
    }

    /// What it answers next.
    pub(crate) fn says(&self, texts: &[&str]) {
        self.texts.lock().unwrap().extend(texts.iter().map(ToString::to_string));
    }

    /// What it received since it was asked this last.
    pub(crate) fn took(&self) -> Vec<String> {
        std::mem::take(&mut self.received.lock().unwrap())
    }
}

/// Every provider, over its own wire.
struct Wires {
    models: Vec<(Provider, ProviderModel)>,
    received: Received,
}

impl Wires {
    async fn new() -> Self {
        entourage_llm::install_tls();
        let (url, received) = provider().await;
        let model = |provider| {
            let connection =
                Connection { base_url: Some(url.clone()), key: Some("k".into()), ..Connection::default() };
            (provider, ProviderModel::new(provider, connection, Arc::default()).unwrap())
        };
        Self { models: Provider::ALL.into_iter().map(model).collect(), received }
    }

    /// What each provider receives of a request.
    async fn sent(&self, request: &Request) -> Vec<String> {
        for (provider, model) in &self.models {
            let name = if *provider == Provider::Anthropic { "claude-sonnet-4-5" } else { "some-model" };
            let request = Request { model: Some(format!("{provider}::{name}")), ..request.clone() };
            let _ = model.call(request, &mut NoDeltas).await;
        }
        std::mem::take(&mut self.received.lock().unwrap())
    }
}

/// A model that sends each request over every wire before a script answers.
pub(crate) struct Tapped {
    wires: Wires,
    script: ScriptedModel,
    bodies: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Tapped {
    pub(crate) async fn new(script: ScriptedModel) -> Self {
        Self { wires: Wires::new().await, script, bodies: Arc::default() }
    }

    /// What each provider received of each request.
    pub(crate) fn bodies(&self) -> Arc<Mutex<Vec<Vec<String>>>> {
        Arc::clone(&self.bodies)
    }

    /// What each provider receives of a request that is not answered.
    pub(crate) async fn sent(&self, request: &Request) -> Vec<String> {
        self.wires.sent(request).await
    }
}

#[async_trait]
impl Model for Tapped {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply, ModelError> {
        let bodies = self.wires.sent(&request).await;
        assert_eq!(bodies.len(), self.wires.models.len(), "each provider received it");
        self.bodies.lock().unwrap().push(bodies);
        self.script.call(request, deltas).await
    }

    fn describe(&self) -> String {
        "tapped".into()
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        self.script.profile(model)
    }
}

/// The turns of an agent with the number of their model calls, in order.
async fn turns(client: &Client, agent: entourage_types::AgentId) -> Vec<(RunId, u32, Item)> {
    let items = client.items(agent, 0, 1_000).await.unwrap();
    let turn = |item: Item| match (&item.body, &item.step) {
        (ItemBody::Turn(_), Some(StepKey::Model(number))) => Some((item.run, *number, item.clone())),
        _ => None,
    };
    items.into_iter().filter_map(turn).collect()
}

fn asked(item: &Item) -> Asked {
    match &item.body {
        ItemBody::Turn(turn) => (**turn.asked.as_ref().expect("it is recorded")).clone(),
        other => panic!("{other:?}"),
    }
}

fn every_section() -> entourage_engine::Kinds {
    one_kind(|kind| {
        kind.context.sections = vec![Section::Time, Section::Notes, Section::Learnings, Section::SubAgents];
        kind.temperature = Some(0.3);
        kind.output_schema = Some(json!({"type": "object", "properties": {"a": {"type": "number"}}}));
        kind.guardrails.attempts = 3;
        kind.limits.max_output_chars = 400;
        kind.limits.max_steps = 4;
    })
}

#[tokio::test]
async fn a_rebuilt_request_is_to_the_byte_what_the_provider_received_on_every_wire() {
    let odd = json!({"n": 0.123_456_789_012_345_68, "big": 12_345_678_901_234_567_890_u64, "text": "\"\\\u{0}\u{e9}\u{1f600}\n"});
    let script = ScriptedModel::new([
        Script::call("create_note", json!({"title": "t", "content": "c"}))
            .and_call("look", odd)
            .and_call("look", json!({"n": 1})),
        Script::text("no JSON"),
        Script::text("{\"a\": 1}"),
        Script::call("save_learning", json!({"text": "They like tea."})),
        Script::call("look", json!("not an object")),
        Script::call("look", json!({"n": 2})),
        Script::text("{\"a\": 2}"),
        Script::text("It was about tea."),
        Script::text("{\"a\": 3}"),
    ]);
    let (wires, bodies) = (Wires::new().await, Arc::default());
    let again = Wires::new().await;
    let model = Tapped { wires, script, bodies: Arc::clone(&bodies) };
    let look = TestTool::answering("look", Effect::Pure, &Effects::default(), |_, arguments| {
        Ok(Outcome::text(format!("{arguments} {}", "long ".repeat(200))))
    });
    let world = World::builder(model).tools(first_tools().with(look)).kinds(every_section()).start().await;
    let root = world.ask("Go <on> & \"quote\".").await;
    world.ended(root.id).await;
    world.clock().advance(Duration::from_secs(3_600));
    world.client().send(root.id, "More.", None).await.unwrap();
    world.ended(root.id).await;
    world.client().close_session(root.id).await.unwrap();
    world.client().send(root.id, "In a new session.", None).await.unwrap();
    crate::kit::eventually("all is said", async || turns(&world.client(), root.id).await.len(), |n| *n == 8)
        .await;
    world.ended(root.id).await;

    let client = world.client();
    let mut received = bodies.lock().unwrap().clone();
    // The summary of the session is no turn.
    received.retain(|bodies| !bodies[0].contains("You keep the records"));
    let turns = turns(&client, root.id).await;
    assert_eq!(turns.len(), received.len());
    for ((run, number, turn), sent) in turns.iter().zip(&received) {
        let rebuilt = client.request(*run, *number).await.unwrap();
        assert_eq!(rebuilt.doubt, None, "item {}", turn.seq);
        assert_eq!(rebuilt.item.seq, turn.seq);
        assert_eq!(&again.sent(&rebuilt.request).await, sent, "item {}", turn.seq);
    }
    let broken = async |at: usize| {
        let (run, number, _) = &turns[at];
        client.request(*run, *number).await.unwrap().before.map(|before| before.broken)
    };
    assert_eq!(broken(0).await, None, "the first request of a session");
    assert_eq!(broken(1).await, Some(None), "an output is cut, which can be read in full");
    assert_eq!(broken(2).await, Some(None));
    assert_eq!(broken(3).await, Some(None), "another run");
    assert_eq!(broken(7).await, None, "a new session");
    let other = world.engine().client(entourage_types::Owner::new("other"));
    assert!(other.request(turns[0].0, 1).await.is_err(), "another user does not find it");
    assert!(client.request(turns[0].0, 9).await.is_err() && client.request(RunId::new(), 1).await.is_err());
    assert_eq!(world.audit().await, []);
}

/// What a weak model is sent, its tools as a schema of next actions, comes from the request alone: the rebuilt one leads
/// to the same bytes, those of a repeated attempt included.
#[tokio::test]
async fn a_rebuilt_request_leads_to_the_bytes_that_the_provider_of_a_weak_model_received() {
    const COPIED: &str = r#"{"action": "final_answer", "text": "the answer"}"#;
    let acts = [
        r#"{"action": "look", "arguments": {"n": 0.5, "text": "\"<\u00e9>\""}}"#,
        COPIED,
        r#"{"action": "create_note", "arguments": {"title": "t", "content": "c"}}"#,
        r#"{"action": "final_answer", "text": "It is <blue>."}"#,
        r#"{"action": "look", "arguments": {}}"#,
        r#"{"action": "final_answer", "text": "Still blue."}"#,
    ];
    // With a schema of its own, the answer is no action.
    let answers = ["no JSON", "{\"a\": 1, \"b\": 2}", "{\"a\": 2}"];
    for (texts, has_schema, calls) in [(&acts[..], false, 5), (&answers, true, 3)] {
        let weak = WeakModel::default();
        let router = Arc::new(weak.router().await);
        let look = TestTool::answering("look", Effect::Pure, &Effects::default(), |_, arguments| {
            Ok(Outcome::text(format!("{arguments} {}", "long ".repeat(200))))
        });
        let kinds = one_kind(|kind| {
            kind.context.sections = vec![Section::Time, Section::Notes];
            kind.output_schema =
                has_schema.then(|| json!({"type": "object", "properties": {"a": {"type": "number"}}}));
            (kind.guardrails.attempts, kind.limits.max_output_chars) = (3, 400);
        });
        weak.says(texts);
        let model = Arc::clone(&router);
        let world = World::builder(model).tools(first_tools().with(look)).kinds(kinds).start().await;
        let root = world.ask("Is it <blue> & \"clear\"?").await;
        world.ended(root.id).await;
        world.clock().advance(Duration::from_secs(3_600));
        world.client().send(root.id, "And now?", None).await.unwrap();
        world.ended(root.id).await;
        let received = weak.took();
        assert_eq!(received.len(), texts.len(), "every text was asked for: {received:?}");
        for body in &received {
            assert_eq!(body.contains(r#""anyOf""#), !has_schema, "{body}");
            assert!(!body.contains(r#""tools""#), "{body}");
        }

        let client = world.client();
        let turns = turns(&client, root.id).await;
        assert_eq!(turns.len(), calls);
        weak.says(texts);
        for (run, number, turn) in &turns {
            let rebuilt = client.request(*run, *number).await.unwrap();
            assert_eq!(rebuilt.doubt, None, "item {}", turn.seq);
            router.call(rebuilt.request, &mut NoDeltas).await.unwrap();
        }
        assert_eq!(weak.took(), received);
    }
}

/// A model that lets time pass at a gate and before its first token, and fails first.
struct Slow {
    clock: entourage_testkit::FakeClock,
    script: ScriptedModel,
}

#[async_trait]
impl Model for Slow {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply, ModelError> {
        self.clock.advance(Duration::from_millis(250));
        deltas.delta(Delta::Sent);
        self.clock.advance(Duration::from_millis(400));
        self.script.call(request, deltas).await
    }

    fn describe(&self) -> String {
        "slow".into()
    }
}

#[tokio::test]
async fn a_turn_keeps_when_it_was_asked_what_the_gate_cost_and_which_attempts_failed() {
    let script = ScriptedModel::new([]);
    let busy = || ModelError::RateLimited { model: "m".into(), retry_after: None };
    script.push(Err(busy()));
    script.push(Err(busy()));
    script.push(Ok(Script::text("Here.")));
    let clock = entourage_testkit::FakeClock::default();
    let model = Slow { clock: clock.clone(), script };
    let world = World::builder(model).clock(clock).kinds(one_kind(|_| {})).start().await;
    let start = world.clock().now();
    let root = world.ask("Go.").await;
    for pause in [Duration::from_millis(1500); 2] {
        world.clock().advance_to_sleeper(pause).await;
    }
    world.ended(root.id).await;
    let (run, _, turn) = turns(&world.client(), root.id).await.remove(0);
    let Asked { at, first_token, gate_ms, failed, .. } = asked(&turn);
    assert_eq!(gate_ms, 250);
    assert_eq!(first_token, Some(at + Duration::from_millis(650)));
    assert_eq!(failed.len(), 2);
    assert!(start <= failed[0].at && failed[0].at < failed[1].at && failed[1].at < at, "{failed:?}");
    assert!(failed.iter().all(|one| one.error.contains("too many requests") && one.model.is_none()));
    let step = world.client().steps(run).await.unwrap().remove(0);
    assert_eq!(
        (step.started, step.updated > at),
        (failed[0].at, true),
        "the step began with the first attempt"
    );
    assert_eq!(step.asked.map(|asked| asked.gate_ms), Some(250));
}

/// What proves a request covers all of it: another text, tool or setting has another digest.
#[tokio::test]
async fn a_changed_row_is_noticed() {
    let database = crate::kit::Database::new();
    let model = ScriptedModel::new([Script::text("One."), Script::text("Two.")]);
    let builder = World::builder(model).tools(Toolbox::new()).kinds(one_kind(|_| {}));
    let world = builder.store(database.open()).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    for text in ["first", "second"] {
        world.client().send(root.id, text, None).await.unwrap();
        world.ended(root.id).await;
    }
    let client = world.client();
    let runs = client.runs(root.id, Page::default()).await.unwrap();
    assert_eq!(client.request(runs[0].id, 1).await.unwrap().doubt, None);
    database.execute("UPDATE items SET body = replace(body, 'first', 'fir5t')");
    for run in &runs {
        let doubt = client.request(run.id, 1).await.unwrap().doubt.expect("it is not what was sent");
        assert!(doubt.contains("has changed"), "{doubt}");
    }
}
