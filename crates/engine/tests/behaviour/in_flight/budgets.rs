//! A database of the version before the sums of agents, left by a process that was killed in a model call for which a
//! tree and its owner had reserved the most that it can use, beside a schedule that had fired once and was armed again.

use std::time::Duration;

use entourage_engine::{Budgets, Clock, Interrupt, Kinds, Run};
use entourage_llm::{Deltas, Model, Profile, Reply, Request, ScriptedModel};
use entourage_store::{AgentQuery, Page, Store};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{FakeClock, World, WorldBuilder, audit, inexact_requests};
use entourage_types::{
    Agent, Amount, Budget, BudgetId, Cost, Kind, Limits, Owner, Schedule, ScheduleStatus, Scope, Status,
    Usage,
};
use futures::{FutureExt, future::BoxFuture};

use super::Migrated;
use crate::{
    budgets::{answering, asleep_over_budget, dollars, lacking, person},
    kit::{Database, WithProgram, bare, eventually, is_worker, team, work},
    triggers::{HOUR, so_far},
};

/// The schema version of the program that left the rows.
const VERSION: usize = 31;
/// What each answer uses.
const USED: u64 = 300;

/// A turn, and a worker. The rows were left by exactly this program.
fn leads<'r>(run: &'r mut Run<'_>) -> BoxFuture<'r, Result<String, Interrupt>> {
    async move {
        run.receive().await?;
        run.call_model().await?;
        let started = run.spawn("parts", work(&["a"])).await?;
        let parts = run.join(&started).await?;
        Ok(run.say(parts[0].text.clone()))
    }
    .boxed()
}

/// A leader with a budget for one call of its worker beside its own, and an agent that a schedule sets to work.
fn kinds() -> Kinds {
    let limits =
        Limits { max_tree_cost: Some(dollars("$0.0015")), max_answer_tokens: Some(100), ..Limits::default() };
    let limited =
        |kind: Kind| Kind { limits: limits.clone(), tools: Some(Vec::new()), version: String::new(), ..kind };
    let [leader, worker] = ["assistant", "worker"].map(|name| Kind::clone(&team().get(name).unwrap()));
    [leader, worker, bare("watcher")].into_iter().fold(Kinds::none(), |kinds, kind| kinds.with(limited(kind)))
}

/// Answers; but nothing to a worker, unless `is_free`.
struct Provider {
    inner: ScriptedModel,
    is_free: bool,
}

#[async_trait::async_trait]
impl Model for Provider {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        if is_worker(&request) && !self.is_free {
            return std::future::pending().await;
        }
        self.inner.call(request, deltas).await
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.inner.price(model, usage)
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        self.inner.profile(model)
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

fn world(store: SqliteStore, is_free: bool) -> WorldBuilder {
    let budgets = Budgets { per_owner_per_day: Some(dollars("$1")), ..Budgets::default() };
    World::builder(Provider { inner: answering(), is_free })
        .kinds(kinds())
        .store(store)
        .engine(move |engine| engine.budgets(budgets.clone()))
        .program(&[], leads)
}

/// A call under way counts as all that it had reserved, and is made again once there is room for that; the schedule
/// fires at its time and is armed again.
#[tokio::test]
async fn reservations_and_schedules_in_flight_in_schema_version_31_hold_after_an_upgrade() {
    for migrated in Migrated::all(VERSION) {
        println!("{migrated:?}");
        let database = Database::new();
        migrated.write(&database.path(), include_str!("budgets.sql"));
        let store = database.open();
        let agents = store.agents(&Scope::All, AgentQuery::default()).await.unwrap();
        let of = |kind: &str| agents.iter().find(|agent| agent.kind == kind).unwrap();
        // The process was killed an hour after the tests' clock starts.
        let clock = FakeClock::default();
        clock.advance(HOUR);
        let budgets = [BudgetId::Tree(of("assistant").id), BudgetId::Day(clock.now().day(), Owner::local())];
        let mut left = Vec::new();
        for id in &budgets {
            left.push(store.budget(&Scope::All, id).await.unwrap().unwrap());
        }
        let world = world(store, true).clock(clock).start().await;
        the_reservation_counts(&world, of("assistant"), &left).await;
        the_schedule_fires(&world, of("watcher")).await;
        assert_eq!(audit(&**world.store(), None).await.unwrap(), []);
        assert_eq!(inexact_requests(world.engine()).await, []);
    }
}

async fn the_reservation_counts(world: &World, leader: &Agent, left: &[Budget]) {
    let lost = left[0].reserved;
    assert!(lost.tokens > 500, "{left:?}");
    assert_settled(left, lost, Amount::default(), [USED, 2 * USED]);
    let now = async || {
        let mut found = Vec::new();
        for budget in left {
            found.push(world.store().budget(&Scope::All, &budget.id).await.unwrap().unwrap());
        }
        found
    };
    // The call that was lost may have used it all, and the tree has no room for as much again.
    asleep_over_budget(world, leader).await;
    assert_settled(&now().await, Amount::default(), lost, [USED, 2 * USED]);
    let tree = world.client().tree(leader.id).await.unwrap();
    assert_eq!(lacking(world, &tree).await, 1);
    let more = Amount { cost: dollars("$1"), tokens: 0 };
    person(world).grant_budget(leader.id, more, None).await.unwrap();
    assert_eq!(world.ended(leader.id).await.status, Status::Succeeded);
    assert_settled(&now().await, Amount::default(), lost, [2 * USED, 3 * USED]);
    let used = world.client().tree_usage(leader.id).await.unwrap().total();
    assert_eq!((used.calls, used.cost), (2, now().await[0].spent.cost));
}

/// Asserts what budgets have reserved and presumed, and how many tokens were spent from each.
fn assert_settled(budgets: &[Budget], reserved: Amount, presumed: Amount, spent: [u64; 2]) {
    for (budget, tokens) in budgets.iter().zip(spent) {
        // A token costs a thousand billionths of a dollar.
        let spent = Amount { cost: Cost::from_nanos(1_000 * tokens), tokens };
        assert_eq!(
            (budget.reserved, budget.presumed, budget.spent),
            (reserved, presumed, spent),
            "{budget:?}"
        );
    }
}

async fn the_schedule_fires(world: &World, agent: &Agent) {
    let client = world.client();
    let armed = async || {
        let active = Some(ScheduleStatus::Active);
        let found: Vec<Schedule> = client.schedules(Some(agent.id), active, Page::default()).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };
    let left = armed().await;
    assert_eq!((left.fired, left.due), (1, world.clock().now() + HOUR));
    world.clock().advance(HOUR - Duration::from_secs(1));
    let due = world.store().due(world.clock().now(), None, 10).await.unwrap();
    assert!(due.iter().all(|wakeup| wakeup.agent != agent.id), "it is not time yet: {due:?}");
    assert_eq!(so_far(world, agent.id).await.0.len(), 1);
    let mut wait = Duration::from_secs(1);
    for times in 1..=2 {
        world.clock().advance(wait);
        wait = HOUR;
        let done = async || so_far(world, agent.id).await;
        let fired = eventually("it fires", done, |(fired, rests)| fired.len() > times && *rests).await.0;
        assert_eq!(fired.len(), 1 + times, "once for each time");
        let now = armed().await;
        let expected = (1 + times as u64, 0, left.due + HOUR * times as u32);
        assert_eq!((now.fired, now.left_out, now.due), expected);
    }
}
