//! Rounds: every few minutes and by hand, dry, against agents that go on at that moment, and with a death at every
//! commit.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use entourage_engine::{Clock as _, Engine, Error, HealthPolicy, Page};
use entourage_llm::ScriptedModel;
use entourage_store::{Claim, Layered, Result, Store, StoreLayer};
use entourage_testkit::{Fault, Faults, HeldModel, World};
use entourage_types::{
    Action, AgentId, HealthAct, JobRun, OnTaskEnd, Owner, Scope, Status, StopReason, Task,
};

use super::kit::{DAY, HOUR, MINUTE, done, goal, in_status, kinds, mind, round, task, tasks, world};
use crate::kit::{WorldExt, eventually, first_tools};

/// Shows: S4-R122, S4-R130.
#[tokio::test]
async fn a_round_comes_every_five_minutes_and_when_the_operator_asks_for_it() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let eve = world.engine().client(Owner::new("eve"));
    assert!(matches!(eve.run_health(false).await, Err(Error::Reserved(_))));
    assert_eq!(round(&world).await, []);
    let last = async || world.store().record::<JobRun>(&Scope::All, "health").await.unwrap().unwrap();
    let by_hand = last().await;
    assert_eq!((by_hand.at, by_hand.due), (Some(world.clock().now()), world.clock().now() + 5 * MINUTE));
    let (goal, _) = task(&world, "Find it.", Status::Succeeded).await;
    let engine = world.engine().clone();
    let upkeep = tokio::spawn(async move { engine.keep_up().await });
    world.clock().advance(15 * DAY);
    eventually("it is forgotten", || tasks(&world, goal), Vec::is_empty).await;
    let first = eventually("it is on record", last, |last| last.found == 1).await;
    assert_eq!((first.repaired, first.repaired_ever), (1, 1));
    // The next one is due five minutes later, and not before.
    for (minutes, is_later) in [(4, false), (1, true)] {
        world.clock().advance(minutes * MINUTE);
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        if is_later {
            eventually("a round is done", last, |last| last.at > first.at).await;
        } else {
            assert_eq!(last().await.at, first.at);
        }
    }
    upkeep.abort();
}

/// Agents of which each rule has one to do something about, in a world whose process has died.
struct Neglected {
    /// Its task ended fifteen days ago.
    ended: Task,
    /// Its task is paused for a day.
    paused: Task,
    /// Nothing of its task has changed for twelve hours.
    stale: Task,
    /// Nothing of it has changed for twelve hours.
    goal: AgentId,
}

impl Neglected {
    async fn new(world: &World) -> Self {
        let (_, ended) = task(world, "Find it.", Status::Succeeded).await;
        world.clock().advance(14 * DAY);
        let (_, paused) = task(world, "Be put off.", Status::Waiting).await;
        world.clock().advance(12 * HOUR);
        let (_, stale) = task(world, "Rest.", Status::Waiting).await;
        let goal = goal(world, "Rest.").await;
        in_status(world, goal, Status::Waiting).await;
        world.clock().advance(12 * HOUR);
        let due = async || world.store().due(world.clock().now(), None, 10).await.unwrap();
        eventually("it is put off again", due, Vec::is_empty).await;
        in_status(world, paused.to, Status::Waiting).await;
        world.faults().kill();
        Self { ended, paused, stale, goal }
    }

    /// What a round does about them.
    fn expected(&self) -> [(AgentId, HealthAct); 4] {
        [
            (self.paused.to, HealthAct::Expired),
            (self.stale.to, HealthAct::Stalled),
            (self.goal, HealthAct::Rested),
            (self.ended.to, HealthAct::Pruned),
        ]
    }

    /// Checks that everything was done, once.
    async fn check(&self, world: World) {
        let world = world.restart(Faults::default()).await;
        let status = async |task: &Task| {
            let tasks = tasks(&world, task.from).await;
            tasks.first().map(|task| (task.status, task.run))
        };
        assert_eq!(status(&self.ended).await, None);
        assert!(matches!(world.client().agent(self.ended.to).await, Err(Error::NotFound { .. })));
        assert_eq!(status(&self.paused).await.unwrap().0, Status::Cancelled);
        let (stale, run) = status(&self.stale).await.unwrap();
        let reason = world.client().run(run.unwrap()).await.unwrap().stop_reason;
        assert_eq!((stale, reason), (Status::Succeeded, Some(StopReason::Stale)));
        let runs = world.client().runs(self.goal, Page::default()).await.unwrap();
        assert_eq!(runs.iter().map(|run| run.stop_reason).collect::<Vec<_>>(), [Some(StopReason::Stale)]);
        assert_eq!(in_status(&world, self.goal, Status::Succeeded).await.stop_reason, None);
        assert_eq!(round(&world).await, []);
        eventually("no job finds anything", || world.inconsistencies(), Vec::is_empty).await;
        assert_eq!(world.audit().await, []);
    }
}

/// Shows: S4-R130.
#[tokio::test]
async fn a_dry_round_changes_nothing_and_says_what_a_real_one_does() {
    let world = world(OnTaskEnd::Wake).start().await;
    let neglected = Neglected::new(&world).await;
    let faults = Faults::default();
    let operator = world.operator_with(&faults).client(Owner::local());
    let dry = operator.run_health(true).await.unwrap();
    assert_eq!((dry.is_dry, faults.commits()), (true, 0));
    let mut looked = done(&dry.reports);
    looked.sort();
    let mut expected = neglected.expected();
    expected.sort();
    assert_eq!(looked, expected);
    let real = operator.run_health(false).await.unwrap();
    assert_eq!((real.is_dry, &real.reports), (false, &dry.reports));
    neglected.check(world).await;
}

/// A round with these faults, and a whole one after it. Returns how many commits the first one made.
async fn round_with(faults: Faults) -> u64 {
    let world = world(OnTaskEnd::Quiet).start().await;
    let neglected = Neglected::new(&world).await;
    for faults in [&faults, &Faults::default()] {
        let engine = world.operator_with(faults);
        // A dead engine does nothing more.
        let done = faults.unless_dead(engine.health_round(false)).await;
        assert!(done.is_none_or(|done| done.is_ok()));
    }
    neglected.check(world).await;
    faults.commits()
}

/// Shows: S4-R126, S4-R127, S4-R128, S4-R129.
#[tokio::test]
async fn a_death_at_any_commit_of_a_round_leaves_the_rest_to_the_next_one() {
    let commits = round_with(Faults::default()).await;
    assert_eq!(commits, 7, "one for each end, three to forget a task, and the record of the round");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            round_with(Faults::default().plan(at, fault)).await;
        }
    }
}

/// A layer that lets the first agent that is claimed go on just before.
#[derive(Clone)]
struct JustBefore {
    engine: Engine,
    /// Whether it has read what it was told, and committed something, or is about to.
    has_read: bool,
    is_over: Arc<AtomicBool>,
}

#[async_trait]
impl StoreLayer for JustBefore {
    async fn claim(&self, store: &Arc<dyn Store>, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        if !self.is_over.swap(true, Ordering::SeqCst) {
            let client = self.engine.client(Owner::local());
            client.intervene(agent, Action::Modify, Some("Find it.")).await.unwrap();
            if self.has_read {
                self.engine.advance(agent).await.unwrap();
            }
        }
        store.claim(agent, from).await
    }
}

/// Shows: S4-R124, S4-R128.
#[tokio::test]
async fn an_agent_that_goes_on_between_the_look_and_the_stop_is_left_alone() {
    for has_read in [true, false] {
        let world = world(OnTaskEnd::Quiet).start().await;
        let (goal, task) = task(&world, "Rest.", Status::Waiting).await;
        world.clock().advance(3 * HOUR);
        let layer = JustBefore { engine: world.engine().clone(), has_read, is_over: Arc::default() };
        let store = Arc::new(Layered::new(Arc::clone(world.store()), layer));
        let engine = Engine::builder(store, Arc::new(ScriptedModel::new([])))
            .kinds(kinds(OnTaskEnd::Quiet))
            .clock(Arc::new(world.clock().clone()))
            .build();
        let reports = engine.health_round(false).await.unwrap().reports;
        assert_eq!(done(&reports), [(task.to, HealthAct::LeftAlone)], "{has_read}");
        in_status(&world, task.to, Status::Succeeded).await;
        let ended = tasks(&world, goal).await.remove(0);
        let run = world.client().run(ended.run.unwrap()).await.unwrap();
        assert_eq!((ended.status, run.stop_reason), (Status::Succeeded, Some(StopReason::Completed)));
        assert_eq!(round(&world).await, []);
        eventually("no job finds anything", || world.inconsistencies(), Vec::is_empty).await;
        assert_eq!(world.audit().await, []);
    }
}

/// Whether an agent lives is no question of how long its model takes.
///
/// Shows: S4-R124, S4-R128.
#[tokio::test]
async fn an_agent_at_work_is_never_stale() {
    let model = HeldModel::new(mind());
    let policy = HealthPolicy { stale_task: MINUTE, stale_goal: MINUTE, ..HealthPolicy::default() };
    let builder = World::builder(model.clone()).tools(first_tools()).kinds(kinds(OnTaskEnd::Quiet));
    let world = builder.engine(move |engine| engine.health(policy)).start().await;
    let goal = goal(&world, "Give it: Find it.").await;
    // The goal's agent asks its model, and then that of its task.
    for is_first in [true, false] {
        model.begun().await;
        if !is_first {
            in_status(&world, goal, Status::Succeeded).await;
        }
        world.clock().advance(2 * MINUTE);
        assert_eq!(round(&world).await, []);
        model.let_go(1);
    }
    in_status(&world, goal, Status::Succeeded).await;
}
