//! One activation of an agent at a time in an engine: a call that is under way, or about to be, is
//! not mistaken for one that a crash interrupted, and nothing starts once a deletion is
//! acknowledged.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use crate::kit::{Effects, TestTool, one_kind, within};
use async_trait::async_trait;
use entourage_engine::Engine;
use entourage_llm::{Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, Layered, MemoryStore, Page, Result as Stored, Store, StoreLayer, Write,
};
use entourage_testkit::{HeldModel, World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::{Action, Agent, Owner, Status, StepState, ToolSpec};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::yield_now};

/// A place where callers wait until they may continue.
#[derive(Clone)]
struct PausePoint {
    reached: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

impl PausePoint {
    fn new() -> Self {
        Self { reached: Arc::new(Semaphore::new(0)), go: Arc::new(Semaphore::new(0)) }
    }

    async fn pass(&self) {
        self.reached.add_permits(1);
        self.go.acquire().await.unwrap().forget();
    }

    async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }
}

/// Stops after the commit of an intent: the call is recorded and has not begun.
#[async_trait]
impl StoreLayer for PausePoint {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Stored<Committed> {
        let is_intent =
            |write: &Write| matches!(write, Write::Step(step) if step.state == StepState::Started);
        let has_intent = commit.writes.iter().any(is_intent);
        let committed = store.commit(commit).await?;
        if has_intent {
            self.pass().await;
        }
        Ok(committed)
    }
}

/// A tool that stops before its effect.
struct PausingTool(TestTool, PausePoint);

#[async_trait]
impl Tool for PausingTool {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        self.0.offer(caller)
    }

    fn effect(&self) -> Effect {
        self.0.effect()
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome, Error> {
        self.1.pass().await;
        self.0.call(context, arguments).await
    }
}

/// An engine whose agent pays, and stops at one of two places on the way.
struct PayingAgent {
    world: World,
    engine: Engine,
    root: Agent,
    effects: Effects,
}

impl PayingAgent {
    async fn new(behind_the_intent: &PausePoint, before_the_effect: &PausePoint) -> Self {
        let model = ScriptedModel::new([Script::call("pay", json!({"n": 1})), Script::text("Paid.")]);
        let effects = Effects::default();
        let pay = TestTool::new("pay", Effect::Unsafe, &effects);
        let world = World::builder(model.clone()).dispatchers([]).store(MemoryStore::default()).start().await;
        let store: Arc<dyn Store> =
            Arc::new(Layered::new(Arc::clone(world.store()), behind_the_intent.clone()));
        let engine = Engine::builder(store, Arc::new(model))
            .tools(Toolbox::new().with(PausingTool(pay, before_the_effect.clone())))
            .kinds(one_kind(|_| {}))
            .clock(Arc::new(world.clock().clone()))
            .build();
        let root = world.ask("Pay.").await;
        Self { world, engine, root, effects }
    }

    /// Another worker of the engine delivers the wake-up.
    fn deliver_wake_up(&self) -> tokio::task::JoinHandle<()> {
        let (engine, agent) = (self.engine.clone(), self.root.id);
        tokio::spawn(async move { engine.advance(agent).await.unwrap() })
    }
}

/// Long enough for everything in memory to proceed as far as it can.
async fn let_everything_proceed() {
    for _ in 0..200 {
        yield_now().await;
    }
}

fn open_pause_point() -> PausePoint {
    let stop = PausePoint::new();
    stop.go.add_permits(Semaphore::MAX_PERMITS);
    stop
}

/// Shows: INV-10.
#[tokio::test]
async fn a_call_under_way_in_another_worker_is_not_in_doubt() {
    let (intent, effect) = (PausePoint::new(), PausePoint::new());
    for (stop, scene) in [
        (&intent, PayingAgent::new(&intent, &open_pause_point()).await),
        (&effect, PayingAgent::new(&open_pause_point(), &effect).await),
    ] {
        let first = scene.deliver_wake_up();
        stop.reached().await;
        let second = scene.deliver_wake_up();
        let_everything_proceed().await;
        let client = scene.world.client();
        assert_eq!(client.questions(None, None, Page::default()).await.unwrap(), []);
        assert!(!second.is_finished(), "it waits for its turn");
        stop.go.add_permits(1);
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(client.agent(scene.root.id).await.unwrap().status, Status::Succeeded);
        assert_eq!(scene.effects.per_call(), [1]);
    }
}

/// Shows: S4-R140, S4-R141.
#[tokio::test]
async fn an_agent_at_work_is_not_claimed_a_second_time() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Done.")]));
    let world = World::builder(model.clone()).dispatchers([]).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    let advance = || {
        let engine = world.engine().clone();
        tokio::spawn(async move { engine.advance(root.id).await })
    };
    let claimed = async || world.client().agent(root.id).await.unwrap().epoch;
    let first = advance();
    model.begun().await;
    let by_first = claimed().await;
    assert_ne!(by_first, root.epoch, "each claim gives the agent another epoch");
    let second = advance();
    let_everything_proceed().await;
    assert!(!second.is_finished());
    assert_eq!(claimed().await, by_first, "the second claims nothing while the first is at work");
    model.let_go(1);
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    assert_eq!((runs.len(), runs[0].model_calls), (1, 1), "the second finds nothing to do");
    assert_eq!(world.audit().await, []);
}

/// Two processes that know nothing of each other work on one agent: what the one commits that claimed it last counts, and
/// of the other nothing.
///
/// Shows: S4-R141.
#[tokio::test]
async fn of_two_processes_that_claim_an_agent_at_once_one_commits() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Mine."), Script::text("Mine, too.")]));
    let rows = MemoryStore::default();
    let builder = World::builder(model.clone()).dispatchers([]).kinds(one_kind(|_| {}));
    let world = builder.store(rows.handle()).start().await;
    let root = world.ask("Go.").await;
    let advance = || {
        let engine = Engine::builder(Arc::new(rows.handle()), Arc::new(model.clone()));
        let engine = engine.kinds(one_kind(|_| {})).clock(Arc::new(world.clock().clone())).build();
        tokio::spawn(async move { engine.advance(root.id).await })
    };
    let both = [advance(), advance()];
    model.begun().await;
    model.begun().await;
    model.let_go(2);
    for process in both {
        process.await.unwrap().unwrap();
    }
    let client = world.client();
    let items = client.items(root.id, 0, 10).await.unwrap();
    assert!(
        matches!(&plain(&items)[..], [message, turn] if message.ends_with("Go.") && turn.contains("Mine"))
    );
    let runs = client.runs(root.id, Page::default()).await.unwrap();
    assert_eq!((runs.len(), runs[0].model_calls, runs[0].status), (1, 1, Status::Succeeded));
}

/// Shows: INV-05.
#[tokio::test]
async fn no_effect_starts_after_a_deletion_is_acknowledged() {
    let (intent, effect) = (PausePoint::new(), PausePoint::new());
    for (stop, scene) in [
        (&intent, PayingAgent::new(&intent, &open_pause_point()).await),
        (&effect, PayingAgent::new(&open_pause_point(), &effect).await),
    ] {
        let at_work = scene.deliver_wake_up();
        stop.reached().await;
        let client = scene.engine.client(Owner::local());
        let id = scene.root.id;
        let deletion = tokio::spawn(async move { client.intervene(id, Action::Delete, None).await.unwrap() });
        let_everything_proceed().await;
        // A call can be cut off; a commit under way is waited for.
        assert_eq!(deletion.is_finished(), std::ptr::eq(stop, &effect));
        stop.go.add_permits(1);
        deletion.await.unwrap();
        at_work.await.unwrap();
        assert_eq!(scene.effects.per_call(), [0_u32; 0]);
        let status = scene.world.client().agent(id).await.unwrap().status;
        assert_eq!(status, Status::Cancelled);
    }
}

/// A tool that blocks its thread, as no tool should.
struct BlockingTool(PausePoint, Mutex<mpsc::Receiver<()>>);

#[async_trait]
impl Tool for BlockingTool {
    fn name(&self) -> &'static str {
        "pay"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object"});
        Some(ToolSpec::new("pay", "BlockingTool.", parameters))
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        self.0.reached.add_permits(1);
        self.1.lock().unwrap().recv().unwrap();
        Ok(Outcome::text("Paid."))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tool_that_blocks_its_thread_does_not_delay_a_deletion() {
    let (stop, (release, held)) = (PausePoint::new(), mpsc::channel());
    let model = ScriptedModel::new([Script::call("pay", json!({})), Script::text("Paid.")]);
    let tools = Toolbox::new().with(BlockingTool(stop.clone(), Mutex::new(held)));
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Pay.").await;
    stop.reached().await;
    let person = world.engine().client(Owner::local());
    let id = root.id;
    let deletion = tokio::spawn(async move { person.intervene(id, Action::Delete, None).await.unwrap() });
    within("the deletion returns", async {
        while !deletion.is_finished() {
            world.clock().advance(Duration::from_millis(100));
            yield_now().await;
        }
    })
    .await;
    assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Cancelled);
    let told = world.client().items(root.id, 0, 100).await.unwrap();
    release.send(()).unwrap();
    world.engine().advance(root.id).await.unwrap();
    assert_eq!(world.client().items(root.id, 0, 100).await.unwrap(), told, "what it returns is of no use");
}
