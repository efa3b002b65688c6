//! All agents share the gate of a model: if one agent is refused, fifty others need not be refused
//! again; and if a model is unavailable, the next declared one answers.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use crate::kit::{WorldExt, bare, first_tools, one_kind};
use async_trait::async_trait;
use entourage_engine::Kinds;
use entourage_llm::{
    Connection, Deltas, Error, GateStatus, Gated, Message, Missing, Model, Reply, Request, Result, Script,
    ScriptedModel,
};
use entourage_store::Page;
use entourage_testkit::{FakeClock, World};
use entourage_types::{
    Action, Agent, AgentId, EventBody, ItemBody, Kind, Limits, Status, StepStatus, WaitingOn,
};
use serde_json::json;
use tokio::time::Instant;

/// How long an answer, or a refusal, takes.
const LATENCY: Duration = Duration::from_millis(50);
const MAIN: &str = "compatible::main";
const SPARE: &str = "compatible::spare";

/// A provider that refuses its workers for a while from the first worker's request on; otherwise it
/// answers by a script.
struct Limited {
    inner: ScriptedModel,
    closed: Mutex<Option<Instant>>,
    asked: AtomicUsize,
    refused: AtomicUsize,
}

const CLOSED: Duration = Duration::from_secs(20);

impl Limited {
    fn new(inner: ScriptedModel) -> Arc<Self> {
        let (asked, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { inner, closed: Mutex::default(), asked, refused })
    }
}

#[async_trait]
impl Model for Limited {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(LATENCY).await;
        if request.system.contains("You work") {
            let opens = {
                let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
                *closed.get_or_insert_with(|| Instant::now() + CLOSED)
            };
            let left = opens.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                self.refused.fetch_add(1, Ordering::SeqCst);
                return Err(Error::RateLimited { model: MAIN.into(), retry_after: Some(left) });
            }
        }
        self.inner.call(request, deltas).await
    }

    fn describe(&self) -> String {
        "limited".into()
    }
}

/// Controls the engine's clock and the runtime's.
pub(crate) struct BothClocks {
    clock: FakeClock,
    /// While a thread waits for this, the runtime's clock does not move by itself.
    _still: mpsc::Sender<()>,
}

impl BothClocks {
    pub(crate) fn on(clock: &FakeClock) -> Self {
        let (still, held) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || held.recv());
        Self { clock: clock.clone(), _still: still }
    }

    pub(crate) async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        tokio::time::advance(by).await;
    }

    /// Moves both clocks on until the tree matches.
    async fn until(&self, world: &World, root: AgentId, fits: impl Fn(&[Agent]) -> bool) {
        for _ in 0..20_000 {
            if fits(&world.client().tree(root).await.unwrap()) {
                return;
            }
            self.advance(LATENCY).await;
        }
        panic!("it did not happen: {:#?}", world.client().tree(root).await.unwrap());
    }
}

fn ended(agents: &[Agent]) -> bool {
    agents.iter().all(|agent| agent.status.is_terminal())
}

fn gated<M: Model>(model: M) -> Arc<Gated<M>> {
    Arc::new(Gated::new(model, Connection::default()))
}

#[tokio::test(start_paused = true)]
async fn fifty_sub_agents_that_meet_a_429_all_finish_with_few_wasted_requests() {
    let model = ScriptedModel::deciding(|request| {
        let begins = !request.messages.iter().any(|message| matches!(message, Message::Assistant { .. }));
        let spawn = |script: Script, number| {
            let task = format!("Number {number}.");
            script.and_call("spawn_agent", json!({"kind": "worker", "task": task}))
        };
        Some(Ok(match begins && request.system.contains("You lead") {
            true => (0..50).fold(Script::text("Off you go."), spawn),
            false => Script::text("Done."),
        }))
    });
    let provider = Limited::new(model);
    let gate = gated(Arc::clone(&provider));
    let limits = Limits { max_children: 64, max_same_tool: 64, ..Limits::default() };
    let named = |name: &str, instructions: &str| Kind {
        instructions: instructions.into(),
        model: Some(MAIN.into()),
        limits: limits.clone(),
        ..bare(name)
    };
    let lead = Kind { peers: vec!["worker".into()], ..named("assistant", "You lead.") };
    let kinds = Kinds::none().with(lead).with(named("worker", "You work."));
    let world = World::builder(Arc::clone(&gate)).tools(first_tools()).kinds(kinds).start().await;
    let hands = BothClocks::on(world.clock());
    let root = world.ask("Go.").await;
    hands.until(&world, root.id, |agents| agents.len() == 51 && ended(agents)).await;

    // Each result has woken the root, which may still be working on the last one.
    let tree = world.client().tree(root.id).await.unwrap();
    assert!(tree[1..].iter().all(|agent| agent.status == Status::Succeeded), "{tree:#?}");
    let (asked, refused) = (provider.asked.load(Ordering::SeqCst), provider.refused.load(Ordering::SeqCst));
    assert!(refused > 0, "nobody met the limit");
    assert!(refused * 100 < asked * 5, "{refused} of {asked} requests were wasted");
    assert_eq!(gate.gates()[0].door, GateStatus::Open);
}

#[tokio::test(start_paused = true)]
async fn a_closed_gate_counts_as_no_attempt() {
    let model = ScriptedModel::new([]);
    model.push(Err(Error::RateLimited { model: MAIN.into(), retry_after: Some(Duration::from_secs(30)) }));
    model.push(Ok(Script::text("First.")));
    model.push(Ok(Script::text("Second.")));
    let kinds = one_kind(|kind| {
        kind.model = Some(MAIN.into());
        // The first agent may fail once; the second one not even that.
        kind.limits.max_attempts = 2;
    });
    let world = World::builder(gated(model.clone())).kinds(kinds).start().await;
    let hands = BothClocks::on(world.clock());
    let first = world.ask("One?").await;
    world.asleep(&first).await;
    let second = world.ask("Two?").await;
    world.asleep(&second).await;
    assert_eq!(model.requests().len(), 1, "nobody was asked twice");
    let agent = world.client().agent(second.id).await.unwrap();
    assert_eq!(agent.waiting_on, Some(WaitingOn::Retry), "it sleeps on disk");
    let events = world.client().events(second.id, 0, 100).await.unwrap();
    let step = events.iter().find_map(|event| match &event.body {
        EventBody::Step { state: StepStatus::Retry, due, attempt, error, .. } => {
            Some((due.unwrap().since(event.at), attempt.unwrap(), error.clone().unwrap()))
        }
        _ => None,
    });
    let (wait, attempt, error) = step.expect("it tells when it is asked again");
    assert!((30..=32).contains(&wait.as_secs()), "{wait:?}");
    assert_eq!(
        (attempt, error.as_str()),
        (0, "compatible::main: not asked, its provider needs a pause of 30 s")
    );

    for root in [&first, &second] {
        hands.until(&world, root.id, ended).await;
        let runs = world.client().runs(root.id, Page::default()).await.unwrap();
        assert_eq!((runs[0].status, runs[0].model_calls), (Status::Succeeded, 1));
        let steps = world.client().steps(runs[0].id).await.unwrap();
        assert_eq!(steps[0].status(), StepStatus::Done);
        assert_eq!(steps[0].attempt, if root.id == first.id { 2 } else { 1 });
    }
}

/// A provider's requested pause holds for five minutes at most, and a person need not wait for it.
#[tokio::test(start_paused = true)]
async fn a_retry_by_a_person_passes_a_closed_gate_and_opens_it_for_all() {
    let model = ScriptedModel::new([]);
    model
        .push(Err(Error::RateLimited { model: MAIN.into(), retry_after: Some(Duration::from_secs(86_400)) }));
    model.push(Ok(Script::text("First.")));
    model.push(Ok(Script::text("Second.")));
    let gate = gated(model.clone());
    let kinds = one_kind(|kind| kind.model = Some(MAIN.into()));
    let world = World::builder(Arc::clone(&gate)).kinds(kinds).start().await;
    let hands = BothClocks::on(world.clock());
    let first = world.ask("One?").await;
    world.asleep(&first).await;
    assert_eq!(gate.gates()[0].door, GateStatus::Paused(Duration::from_secs(300)));
    world.client().intervene(first.id, Action::Retry, None).await.unwrap();
    hands.until(&world, first.id, ended).await;
    assert_eq!(last_words(&world, first.id).await, "First.");
    assert_eq!(gate.gates()[0].door, GateStatus::Open);
    let second = world.ask("Two?").await;
    hands.until(&world, second.id, ended).await;
    assert_eq!((last_words(&world, second.id).await.as_str(), model.requests().len()), ("Second.", 3));
}

#[tokio::test(start_paused = true)]
async fn people_overtake_background_work_at_the_gate() {
    let model = ScriptedModel::deciding(|request| {
        let spoke = request.messages.iter().any(|message| matches!(message, Message::Assistant { .. }));
        let begins = !spoke && request.messages.contains(&Message::User("Delegate.".into()));
        let spawn =
            |script: Script, _| script.and_call("spawn_agent", json!({"kind": "worker", "task": "Work."}));
        Some(Ok(if begins { (0..5).fold(Script::text(""), spawn) } else { Script::text("Done.") }))
    });
    let provider = Limited::new(model.clone());
    let gate = Arc::new(Gated::new(provider, Connection { concurrency: Some(1), ..Connection::default() }));
    let named = |name: &str, instructions: &str| Kind {
        instructions: instructions.into(),
        model: Some(MAIN.into()),
        ..bare(name)
    };
    let lead = Kind { peers: vec!["worker".into()], ..named("assistant", "You lead.") };
    let kinds = Kinds::none().with(lead).with(named("worker", "Background."));
    let world = World::builder(Arc::clone(&gate)).tools(first_tools()).kinds(kinds).start().await;
    let hands = BothClocks::on(world.clock());
    let root = world.ask("Delegate.").await;
    hands.until(&world, root.id, |_| !model.requests().is_empty()).await;
    // Five workers and the root, which has delegated: one request is under way, the others wait.
    wait_until_queued(&world, &gate, 5).await;
    let asked = model.requests().len();
    let person = world.ask("And me?").await;
    wait_until_queued(&world, &gate, 6).await;
    hands.until(&world, root.id, |agents| agents.len() == 6 && ended(agents)).await;
    hands.until(&world, person.id, ended).await;
    let order: Vec<bool> =
        model.requests()[asked..].iter().map(|request| request.system.contains("Background")).collect();
    let person_at = model.requests()[asked..]
        .iter()
        .position(|request| request.messages.contains(&Message::User("And me?".into())))
        .unwrap();
    // One was under way, and the root works for a person too; the workers arrived earlier and wait
    // longer.
    assert!(person_at <= 2, "{order:?}");
    let workers = |calls: &[bool]| calls.iter().filter(|background| **background).count();
    assert!(workers(&order[..person_at]) <= 1, "{order:?}");
    assert!(workers(&order[person_at..]) >= 4, "{order:?}");
}

/// Returns once this many wait at the gate; no time passes until then.
async fn wait_until_queued<M: Model>(world: &World, gate: &Gated<M>, callers: usize) {
    for _ in 0..20_000 {
        if gate.gates().iter().map(|gate| gate.waiting).sum::<usize>() == callers {
            return;
        }
        // Any wait for the store lets the engine continue.
        world.client().roots(None, Page::default()).await.unwrap();
    }
    panic!("they did not come: {:?}", gate.gates());
}

/// A model that answers by the requested name: the spare one answers, the others fail.
fn two_models(main: impl Fn() -> Error + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::deciding(move |request| {
        Some(match request.model.as_deref() {
            Some(SPARE) => Ok(Script::text("From the spare.")),
            _ => Err(main()),
        })
    })
}

fn with_spare() -> Kinds {
    one_kind(|kind| {
        kind.model = Some(MAIN.into());
        kind.fallback = vec![SPARE.into()];
    })
}

fn requests_to(model: &ScriptedModel, name: &str) -> usize {
    model.requests().iter().filter(|request| request.model.as_deref() == Some(name)).count()
}

async fn last_words(world: &World, root: AgentId) -> String {
    let items = world.client().items(root, 0, 100).await.unwrap();
    match &items.last().unwrap().body {
        ItemBody::Turn(turn) => turn.text.clone(),
        other => panic!("no turn: {other:?}"),
    }
}

#[tokio::test]
async fn the_fallback_answers_at_once_if_the_model_cannot_be_used() {
    let model =
        two_models(|| Error::Denied { model: MAIN.into(), lack: Missing::Model, cause: "HTTP 404".into() });
    let world = World::builder(model.clone()).kinds(with_spare()).start().await;
    let root = world.ask("Hello?").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(last_words(&world, root.id).await, "From the spare.");
    assert_eq!((requests_to(&model, MAIN), requests_to(&model, SPARE)), (1, 1));
}

#[tokio::test]
async fn the_turn_says_which_model_answered() {
    let model = Named(
        two_models(|| Error::Denied { model: MAIN.into(), lack: Missing::Model, cause: "HTTP 404".into() }),
        Vec::new(),
    );
    let world = World::builder(model).kinds(with_spare()).start().await;
    let root = world.ask("Hello?").await;
    world.ended(root.id).await;
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    let ItemBody::Turn(turn) = &items[1].body else { panic!("no turn: {items:?}") };
    assert_eq!(turn.used.as_ref().unwrap().model, SPARE);
}

/// A model whose replies name the requested model, as a provider's do, with a list of fallback
/// models.
struct Named(ScriptedModel, Vec<String>);

#[async_trait]
impl Model for Named {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let model = request.model.clone().unwrap_or_default();
        Ok(Reply { model, ..self.0.call(request, deltas).await? })
    }

    fn describe(&self) -> String {
        "named".into()
    }

    fn fallback(&self) -> &[String] {
        &self.1
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_sends_requests_to_the_fallback() {
    let model =
        two_models(|| Error::Unavailable { model: MAIN.into(), cause: "HTTP 500".into(), retry_after: None });
    let gate = gated(model.clone());
    let world = World::builder(Arc::clone(&gate)).kinds(with_spare()).start().await;
    let hands = BothClocks::on(world.clock());
    let asked = async |text: &str| {
        let root = world.ask(text).await;
        hands.until(&world, root.id, ended).await;
        assert_eq!(last_words(&world, root.id).await, "From the spare.");
        requests_to(&model, MAIN)
    };
    assert_eq!(asked("One?").await, 3, "all attempts were used up before");
    assert_eq!(asked("Two?").await, 6, "the breaker opens during these, and the last one tests it");
    assert_eq!(asked("Three?").await, 8, "they test it, until it stays open for longer than a run waits");
    let main = gate.gates().into_iter().find(|gate| gate.model == MAIN).unwrap();
    assert!(matches!(main.door, GateStatus::Broken(_)), "{main:?}");
    assert_eq!(asked("Four?").await, 8, "it was not asked again");
}

#[tokio::test]
async fn a_refused_request_is_not_sent_to_the_fallback() {
    let model = two_models(|| Error::Refused { model: MAIN.into(), cause: "HTTP 400".into() });
    let world = World::builder(model.clone()).kinds(with_spare()).start().await;
    let root = world.ask("Hello?").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    assert_eq!((requests_to(&model, MAIN), requests_to(&model, SPARE)), (1, 0));
}

#[tokio::test]
async fn the_engines_fallback_serves_only_kinds_that_name_no_model() {
    for (own, answered) in [(None, true), (Some(MAIN), false)] {
        let script =
            two_models(|| Error::Denied { model: MAIN.into(), lack: Missing::Key, cause: "HTTP 401".into() });
        let model = Named(script.clone(), vec![SPARE.into()]);
        let kinds = one_kind(|kind| kind.model = own.map(Into::into));
        let world = World::builder(model).kinds(kinds).start().await;
        let root = world.ask("Hello?").await;
        assert_eq!(world.ended(root.id).await.status == Status::Succeeded, answered);
        assert_eq!(requests_to(&script, SPARE), usize::from(answered));
    }
}

#[tokio::test]
async fn the_error_of_a_run_lists_each_failed_model_once() {
    let model = ScriptedModel::deciding(|request| {
        let model = request.model.clone().unwrap_or_default();
        Some(Err(Error::Denied { model, lack: Missing::Key, cause: "HTTP 401".into() }))
    });
    let world = World::builder(model).kinds(with_spare()).start().await;
    let root = world.ask("Hello?").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    assert_eq!(
        runs[0].error.as_deref(),
        Some("compatible::main cannot be used: HTTP 401; compatible::spare cannot be used: HTTP 401")
    );
}
