//! How many of something an owner may have, also where two are made at the same moment.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_engine::{Client, Engine, Error, Kinds, NewAgent, NewGoal, NewSchedule, Page};
use entourage_llm::ScriptedModel;
use entourage_store::{
    Commit, Committed, Expect, Layered, MemoryStore, Result as StoreResult, Store, StoreLayer, Write,
};
use entourage_testkit::quiet;
use entourage_types::{
    AgentId, EntityKind, Goal, GoalStatus, Owner, Record, Recurrence, Schedule, ScheduleId, ScheduleStatus,
    Time, Trigger,
};
use serde_json::Value;

use crate::secrets::{key, keys, name};

fn node(store: Arc<dyn Store>) -> Client {
    let builder = Engine::builder(store, Arc::new(ScriptedModel::new([]))).kinds(quiet(Kinds::builtin()));
    builder.secret_keys(Some(keys(&KEY))).build().client(Owner::local())
}

static KEY: std::sync::LazyLock<String> = std::sync::LazyLock::new(key);

/// Another request of the owner that makes one more right before the first commit which counts.
struct Meanwhile {
    rows: MemoryStore,
    makes: for<'a> fn(&'a Client) -> futures::future::BoxFuture<'a, ()>,
    has_made: AtomicBool,
}

#[async_trait]
impl StoreLayer for Meanwhile {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> StoreResult<Committed> {
        let counts = |expect: &Expect| matches!(expect, Expect::Version(EntityKind::COUNTER, ..));
        if commit.expect.iter().any(counts) && !self.has_made.swap(true, Ordering::SeqCst) {
            (self.makes)(&node(Arc::new(self.rows.handle()))).await;
        }
        store.commit(commit).await
    }
}

/// Another request of the owner that comes right behind the first read of a request, which looks whether it was answered.
struct BehindFirstRead {
    rows: MemoryStore,
    makes: for<'a> fn(&'a Client) -> futures::future::BoxFuture<'a, ()>,
    reads: AtomicUsize,
}

#[async_trait]
impl StoreLayer for BehindFirstRead {
    async fn pass(&self) -> StoreResult<()> {
        if self.reads.fetch_add(1, Ordering::SeqCst) == 1 {
            (self.makes)(&node(Arc::new(self.rows.handle()))).await;
        }
        Ok(())
    }
}

/// A client of these rows, behind whose first read another one comes.
fn twice(rows: &MemoryStore, makes: for<'a> fn(&'a Client) -> futures::future::BoxFuture<'a, ()>) -> Client {
    let layer = BehindFirstRead { rows: rows.handle(), makes, reads: AtomicUsize::new(0) };
    node(Arc::new(Layered::new(Arc::new(rows.handle()), layer)))
}

/// A client of these rows, whose first request of those that count comes right behind another one.
fn overtaken(
    rows: &MemoryStore,
    makes: for<'a> fn(&'a Client) -> futures::future::BoxFuture<'a, ()>,
) -> Client {
    let layer = Meanwhile { rows: rows.handle(), makes, has_made: AtomicBool::new(false) };
    node(Arc::new(Layered::new(Arc::new(rows.handle()), layer)))
}

fn is_limit<T>(refused: &Result<T, Error>, most: u32, what: &str) -> bool {
    matches!(refused, Err(Error::LimitReached { most: number, what: of, .. }) if (*number, *of) == (most, what))
}

#[tokio::test]
async fn an_owner_has_a_thousand_secrets_and_not_one_more_by_two_requests_at_once() {
    let rows = MemoryStore::default();
    let client = node(Arc::new(rows.handle()));
    for n in 0..999 {
        client.set_secret(name(&format!("s{n}")), &"of eight characters".into()).await.unwrap();
    }
    let second = overtaken(&rows, |client| {
        Box::pin(async {
            drop(client.set_secret(name("other"), &"of eight characters".into()).await.unwrap())
        })
    });
    let refused = second.set_secret(name("last"), &"of eight characters".into()).await;
    assert!(is_limit(&refused, 1_000, "secrets"), "{refused:?}");
    let told = refused.unwrap_err().to_string();
    assert_eq!(told, "1000 secrets are the most that one can have; delete some first");
    // One of them may be set again, and another one once there is room.
    client.set_secret(name("s0"), &"other eight characters".into()).await.unwrap();
    client.delete_secret(&name("s0")).await.unwrap();
    // Who sets it at the same moment as another request, which takes the last place, sets it anew.
    let twice = twice(&rows, |client| {
        Box::pin(async {
            drop(client.set_secret(name("last"), &"of eight characters".into()).await.unwrap())
        })
    });
    let (is_new, _) = twice.set_secret(name("last"), &"other eight characters".into()).await.unwrap();
    assert!(!is_new);
}

fn hourly(agent: AgentId) -> NewSchedule {
    NewSchedule {
        agent,
        text: "Look.".into(),
        trigger: Trigger { name: "look".into(), payload: Value::Null, schedule: None },
        first: None,
        recurrence: Recurrence::Every { seconds: 3600 },
    }
}

/// Makes one more schedule, of an agent that has one.
async fn one_more(client: &Client) {
    let agent = client.schedules(None, None, Page::default()).await.unwrap()[0].agent;
    drop(client.schedule(hourly(agent), None).await.unwrap());
}

/// A paused schedule is kept, so it counts. One that goes on is no other one.
#[tokio::test]
async fn an_owner_has_a_thousand_schedules_that_have_not_ended_paused_or_not() {
    let rows = MemoryStore::default();
    let client = node(Arc::new(rows.handle()));
    let agent = client.create(NewAgent::default(), None).await.unwrap().id;
    let first = client.schedule(hourly(agent), None).await.unwrap();
    let mut commit = Commit::new(Time::from_micros(1));
    let mut ids = Vec::new();
    for nth in 1..999 {
        let status = if nth % 3 == 0 { ScheduleStatus::Active } else { ScheduleStatus::Paused };
        let schedule = Schedule { id: ScheduleId::new(), status, ..first.clone() };
        ids.push((schedule.id, status));
        commit.push(Write::Record(schedule.entity().unwrap(), None));
    }
    rows.commit(commit).await.unwrap();
    let what = "schedules that have not ended";
    // Of two at once one takes the last place.
    let second = overtaken(&rows, |client| Box::pin(one_more(client)));
    let refused = second.schedule(hourly(agent), None).await;
    assert!(is_limit(&refused, 1_000, what), "{refused:?}");
    for (id, status) in ids.into_iter().take(6) {
        match status {
            ScheduleStatus::Active => drop(client.pause_schedule(id).await.unwrap()),
            _ => drop(client.resume_schedule(id).await.unwrap()),
        }
        let refused = client.schedule(hourly(agent), None).await;
        assert!(is_limit(&refused, 1_000, what), "{refused:?}");
    }
    client.pause_schedule(first.id).await.unwrap();
    client.end_schedule(first.id).await.unwrap();
    client.schedule(hourly(agent), None).await.unwrap();
    let refused = client.schedule(hourly(agent), None).await;
    assert!(is_limit(&refused, 1_000, what), "{refused:?}");
}

fn rome() -> NewGoal {
    NewGoal { title: "Rome".into(), ..NewGoal::default() }
}

/// Archived goals count, deleted ones do not. A request that is repeated is answered as it was, also by the last place.
#[tokio::test]
async fn an_owner_has_ten_thousand_goals_and_not_one_more_by_two_requests_at_once() {
    let rows = MemoryStore::default();
    let client = node(Arc::new(rows.handle()));
    let first = client.create_goal(rome(), None).await.unwrap();
    let mut commit = Commit::new(Time::from_micros(1));
    for _ in 0..9_998 {
        let goal = Goal { agent: AgentId::new(), status: GoalStatus::Archived, ..first.clone() };
        commit.push(Write::Record(goal.entity().unwrap(), None));
    }
    rows.commit(commit).await.unwrap();
    let second = overtaken(&rows, |client| {
        Box::pin(async {
            let new = NewGoal { title: "Paris".into(), ..NewGoal::default() };
            drop(client.create_goal(new, None).await.unwrap());
        })
    });
    let refused = second.create_goal(rome(), None).await;
    assert!(is_limit(&refused, 10_000, "goals"), "{refused:?}");
    client.delete_goal(first.agent).await.unwrap();
    let twice = twice(&rows, |client| {
        Box::pin(async { drop(client.create_goal(rome(), Some("once")).await.unwrap()) })
    });
    let last = twice.create_goal(rome(), Some("once")).await.unwrap();
    assert_eq!(client.create_goal(rome(), Some("once")).await.unwrap(), last);
    let refused = client.create_goal(rome(), Some("twice")).await;
    assert!(is_limit(&refused, 10_000, "goals"), "{refused:?}");
}
