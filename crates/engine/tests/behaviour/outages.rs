//! A store that is unavailable for a while: the engine ends no run for that and asks no model
//! meanwhile, and everything continues by itself afterwards.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering},
    },
    time::Duration,
};

use crate::kit::{Database, FakeClockExt, WorldBuilderExt, WorldExt, first_tools, within};
use async_trait::async_trait;
use entourage_engine::{
    Clock, Engine, NewAgent,
    dispatch::{Advance, Dispatcher, Due, Embedded},
};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, Error, Layered, MemoryStore, Page, Result, Store, StoreLayer, Write,
};
use entourage_store_sqlite::Settings as StoreSettings;
use entourage_testkit::{FakeClock, Fault, HeldModel, World, plain};
use entourage_types::{Agent, AgentId, CommitId, Owner, Status, Time, Wakeup};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A store that is full for a while, and counts what it refuses.
#[derive(Clone, Default)]
struct Outage {
    is_full: Arc<AtomicBool>,
    refused: Arc<watch::Sender<u32>>,
}

impl Outage {
    fn begins(&self) {
        self.is_full.store(true, Ordering::SeqCst);
    }

    fn ends(&self) {
        self.is_full.store(false, Ordering::SeqCst);
    }

    fn check(&self) -> Result<()> {
        if self.is_full.load(Ordering::SeqCst) { Err(Error::DiskFull("planned".into())) } else { Ok(()) }
    }

    fn count<T>(&self, result: Result<T>) -> Result<T> {
        if result.as_ref().is_err_and(Error::is_outage) {
            self.refused.send_modify(|refused| *refused += 1);
        }
        result
    }

    /// Waits until this many attempts were refused.
    async fn refused(&self, count: u32) {
        let mut refused = self.refused.subscribe();
        let enough = refused.wait_for(|refused| *refused >= count);
        tokio::time::timeout(Duration::from_secs(30), enough).await.expect("it is tried").unwrap();
    }
}

#[async_trait]
impl StoreLayer for Outage {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        self.count(match self.check() {
            Ok(()) => store.commit(commit).await,
            Err(error) => Err(error),
        })
    }

    async fn ready(&self, store: &Arc<dyn Store>) -> Result<()> {
        self.count(match self.check() {
            Ok(()) => store.ready().await,
            Err(error) => Err(error),
        })
    }
}

fn model() -> HeldModel {
    HeldModel::new(ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::Output { .. }) => Script::text("Done."),
            _ => Script::call("create_note", json!({"title": "t", "content": "c"})),
        }))
    }))
}

/// Ends the run that waits for its store, and verifies that nothing of it was lost.
async fn assert_run_completes(world: &World, root: &Agent, model: &HeldModel) {
    model.let_go(10);
    world.clock().advance(Duration::from_secs(30));
    let ended = world.ended(root.id).await;
    assert_eq!(ended.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    assert_eq!(plain(&items).len(), 4, "{:?}", plain(&items));
    assert_eq!(world.audit().await, []);
    assert_eq!(world.inconsistencies().await, [""; 0]);
}

#[tokio::test]
async fn a_disk_full_for_an_hour_ends_no_run_and_repeats_no_model_call() {
    let (model, outage) = (model(), Outage::default());
    let world = World::builder(model.clone()).tools(first_tools()).between(outage.clone()).start().await;
    let root = world.ask("Take a note.").await;
    model.begun().await;
    outage.begins();
    model.let_go(1);
    outage.refused(1).await;
    // It is attempted at least every half minute, far more often than after failures of its own.
    for attempt in 2..=120 {
        world.clock().advance(Duration::from_secs(30));
        outage.refused(attempt).await;
    }
    assert!(matches!(world.engine().store().ready().await, Err(Error::DiskFull(_))));
    assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Running);
    outage.ends();
    world.clock().advance(Duration::from_secs(30));
    // The first model call was answered and could not be stored; this is the second.
    model.begun().await;
    assert_run_completes(&world, &root, &model).await;
}

/// A clock that jumps to the end of the next sleep as soon as nothing else can run.
struct JumpingClock(AtomicI64);

#[async_trait]
impl Clock for JumpingClock {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Time) {
        // All concurrent work is on the same thread and waits for nothing, so that it is done by
        // then.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        self.0.fetch_max(until.micros(), Ordering::SeqCst);
    }
}

/// An engine whose store is unavailable; it records when it was tried, and stops after nine times.
struct FullEngine {
    clock: Arc<JumpingClock>,
    tried: Mutex<Vec<Time>>,
    enough: CancellationToken,
}

#[async_trait]
impl Advance for FullEngine {
    fn woken(&self, _: AgentId) {}

    async fn advance(&self, _: AgentId, _: Due) -> entourage_engine::Result<()> {
        let mut tried = self.tried.lock().unwrap();
        tried.push(self.clock.now());
        if tried.len() == 9 {
            self.enough.cancel();
        }
        Err(Error::DiskFull("planned".into()).into())
    }

    async fn give_up(&self, _: AgentId, cause: &str) -> entourage_engine::Result<()> {
        panic!("its run is ended: {cause}")
    }
}

#[tokio::test]
async fn retries_during_a_store_outage_back_off_up_to_thirty_seconds() {
    let (clock, enough) = (Arc::new(JumpingClock(AtomicI64::new(0))), CancellationToken::new());
    let (store, at) = (Arc::new(MemoryStore::default()), clock.now());
    let agent = Agent::root(Owner::local(), "helper", "", at);
    let wakeup = Wakeup::new(agent.id, agent.owner.clone(), at);
    let commit = Commit::new(at).write(Write::NewAgent(agent)).write(Write::ScheduleWakeup(wakeup));
    store.commit(commit).await.unwrap();
    let tried = Mutex::default();
    let engine = Arc::new(FullEngine { clock: Arc::clone(&clock), tried, enough: enough.clone() });
    let tries: Arc<dyn Advance> = Arc::<FullEngine>::clone(&engine);
    let dispatcher = Embedded::default();
    within("it is tried nine times", dispatcher.run(tries, store, clock, enough)).await.unwrap();
    let tried = engine.tried.lock().unwrap();
    let pauses: Vec<u128> = tried.windows(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect();
    // Even though all due wake-ups are read again each minute meanwhile.
    assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
}

#[tokio::test]
async fn a_database_locked_by_another_program_only_delays_the_run() {
    let (model, outage) = (model(), Outage::default());
    let database = Database::new();
    let impatient = StoreSettings { patience: Duration::from_millis(1), ..StoreSettings::default() };
    let builder = World::builder(model.clone()).tools(first_tools()).between(outage.clone());
    let world = builder.store(database.open_with(impatient)).start().await;
    let root = world.ask("Take a note.").await;
    model.begun().await;
    let holder = rusqlite::Connection::open(database.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    model.let_go(1);
    outage.refused(1).await;
    for attempt in 2..=20 {
        world.clock().advance(Duration::from_secs(30));
        outage.refused(attempt).await;
    }
    let held = world.engine().store().ready().await;
    assert!(matches!(&held, Err(Error::Unavailable { .. })), "{held:?}");
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(world.engine().store().ready().await.is_ok());
    world.clock().advance(Duration::from_secs(30));
    model.begun().await;
    assert_run_completes(&world, &root, &model).await;
}

/// A store in which every commit fails once it is damaged, and that counts the attempts.
#[derive(Clone, Default)]
struct Damage {
    is_damaged: Arc<AtomicBool>,
    tried: Arc<watch::Sender<u32>>,
}

#[async_trait]
impl StoreLayer for Damage {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        if !self.is_damaged.load(Ordering::SeqCst) {
            return store.commit(commit).await;
        }
        self.tried.send_modify(|tried| *tried += 1);
        Err(Error::Damaged("planned".into()))
    }
}

/// Corruption does not pass: the engine tries once to end the run and then leaves it alone, for any
/// length of time.
#[tokio::test]
async fn a_damaged_database_is_not_retried() {
    let (model, damage) = (model(), Damage::default());
    let world = World::builder(model.clone()).tools(first_tools()).between(damage.clone()).start().await;
    let root = world.ask("Take a note.").await;
    model.begun().await;
    damage.is_damaged.store(true, Ordering::SeqCst);
    model.let_go(1);
    let mut tried = damage.tried.subscribe();
    let both = tried.wait_for(|tried| *tried == 2);
    tokio::time::timeout(Duration::from_secs(30), both).await.expect("it is tried, and then ended").unwrap();
    // A worker delivers what is due before it handles this read.
    for _ in 0..20 {
        world.clock().advance(Duration::from_secs(60));
        world.client().agent(root.id).await.unwrap();
    }
    assert_eq!(*damage.tried.borrow(), 2);
}

/// What a person requests while the connection to the database is lost is done once, and reported
/// to them.
#[tokio::test]
async fn a_request_whose_commit_outcome_is_unknown_takes_effect_once() {
    for fault in [Fault::UnknownBefore, Fault::UnknownAfter] {
        let model = ScriptedModel::new([Script::text("Done.")]);
        let world = World::builder(model.clone()).start_with(1, fault).await;
        let person = world.engine().client(Owner::local());
        let new = NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
        let agent = person.create(new, None).await.unwrap();
        assert_eq!(world.ended(agent.id).await.status, Status::Succeeded, "{fault:?}");
        let agents = world.client().agents(None, Page::default()).await.unwrap();
        assert_eq!(agents.len(), 1, "{fault:?}");
        let items = world.client().items(agent.id, 0, 10).await.unwrap();
        assert_eq!(plain(&items), ["message: Go.", "turn: Done.[]"], "{fault:?}");
        assert_eq!(world.audit().await, []);
    }
}

/// A store whose connection is lost before each of the next commits, which are not applied.
#[derive(Clone)]
struct LostConnection {
    times: Arc<AtomicU32>,
    commits: Arc<Mutex<Vec<CommitId>>>,
}

#[async_trait]
impl StoreLayer for LostConnection {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        self.commits.lock().unwrap().push(commit.id);
        let is_lost = |times: u32| times.checked_sub(1);
        match self.times.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_lost) {
            Ok(_) => Err(Error::Unknown { commit: commit.id }),
            Err(_) => store.commit(commit).await,
        }
    }
}

/// Repeated under the same id at once, and then after pauses that double, for 25 seconds.
#[tokio::test]
async fn a_request_is_repeated_until_its_outcome_is_known_or_for_twenty_five_seconds() {
    for (times, is_known) in [(3, true), (8, true), (9, false)] {
        let layer = LostConnection { times: Arc::new(times.into()), commits: Arc::default() };
        let store = Arc::new(Layered::new(Arc::new(MemoryStore::default()), layer.clone()));
        let clock = FakeClock::default();
        let builder = Engine::builder(store, Arc::new(ScriptedModel::new([])));
        let person = builder.clock(Arc::new(clock.clone())).build().client(Owner::local());
        let pauses = async {
            let mut waited = Duration::ZERO;
            for _ in 1..times.min(8) {
                waited += clock.advance_to_sleeper(Duration::from_secs(13)).await;
            }
            waited
        };
        let (created, waited) = tokio::join!(person.create(NewAgent::default(), None), pauses);
        let commits = layer.commits.lock().unwrap();
        assert!(commits.iter().all(|id| *id == commits[0]), "each under the same id");
        assert_eq!(commits.len() as u32, (times + 1).min(9));
        let pauses: u64 = (1..times.min(8)).map(|again| 200 << (again - 1)).sum();
        assert_eq!(waited, Duration::from_millis(pauses));
        match created {
            Ok(_) => assert!(is_known, "{times} times"),
            Err(entourage_engine::Error::Store(Error::Unknown { commit })) => {
                assert_eq!((commit, is_known), (commits[0], false), "{times} times");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// An activation that does not know whether its commit was applied ends, and the next one reads
/// that.
#[tokio::test]
async fn an_activation_whose_commit_outcome_is_unknown_continues_at_once() {
    for fault in [Fault::UnknownBefore, Fault::UnknownAfter] {
        for at in 1..=2 {
            let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Done."))));
            let world = World::builder(model).start_with(at, fault).await;
            let began = world.clock().now();
            let agent = world.ask("Go.").await;
            assert_eq!(world.ended(agent.id).await.status, Status::Succeeded, "{fault:?}");
            assert_eq!(world.clock().now(), began, "{fault:?}: no time passed");
            let items = world.client().items(agent.id, 0, 10).await.unwrap();
            assert_eq!(plain(&items), ["message: Go.", "turn: Done.[]"], "{fault:?} at {at}");
            assert_eq!(world.audit().await, []);
        }
    }
}
