//! Tasks that ended long ago are forgotten in the living tree of their goal.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use entourage_engine::{Engine, Error};
use entourage_llm::ScriptedModel;
use entourage_store::{Layered, Result, StoreLayer};
use entourage_testkit::World;
use entourage_types::{AgentId, EventBody, HealthAct, OnTaskEnd, Scope, Status, Task};

use super::kit::{DAY, SECOND, done, in_status, kinds, person, round, task, tasks, world};
use crate::kit::eventually;

/// Gives the goal's agent so many more tasks, and waits until they have ended.
async fn give(world: &World, goal: AgentId, more: usize) -> Vec<Task> {
    let before = tasks(world, goal).await.len();
    for given in 1..=more {
        person(world).send(goal, "Give it: Find it.", None).await.unwrap();
        let look = async || tasks(world, goal).await;
        let ended =
            |all: &Vec<Task>| all.len() == before + given && all.iter().all(|task| task.status.is_terminal());
        eventually("it has ended", look, ended).await;
        in_status(world, goal, Status::Succeeded).await;
    }
    tasks(world, goal).await
}

/// Shows: S4-R127.
#[tokio::test]
async fn a_task_is_forgotten_fifteen_days_after_its_end_and_its_events_stay_in_order() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let (goal, first) = task(&world, "Find it.", Status::Succeeded).await;
    world.clock().advance(10 * DAY);
    let second = give(&world, goal, 1).await.pop().unwrap();
    let before = world.client().tree(goal).await.unwrap();
    world.clock().advance(5 * DAY - SECOND);
    assert_eq!(round(&world).await, [], "not yet");
    world.clock().advance(SECOND);
    assert_eq!(round(&world).await, [(first.to, HealthAct::Pruned)]);
    assert_eq!(tasks(&world, goal).await, [second], "the younger one stays, with its agent");
    assert_eq!(world.client().tree(goal).await.unwrap().len(), before.len() - 1);
    assert!(matches!(world.client().agent(first.to).await, Err(Error::NotFound { .. })));
    assert_eq!(round(&world).await, [], "once");
    // The numbers have no gaps, and what is left says what was forgotten, and no text of it.
    let events = world.store().events(&Scope::All, goal, 0, 1000).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64), "{events:?}");
    let of_first = |body: &EventBody| match body {
        EventBody::Task { task } if task.id == first.id => Some(task.clone()),
        _ => None,
    };
    let left: Vec<_> = events.iter().filter_map(|event| of_first(&event.body)).collect();
    assert!(!left.is_empty() && left.iter().all(|task| task.instruction.is_empty()), "{left:?}");
    assert_eq!(world.audit().await, []);
    // The goal goes on.
    give(&world, goal, 1).await;
    assert_eq!(world.audit().await, []);
}

/// Counts the calls of a store.
#[derive(Clone, Default)]
struct Calls(Arc<AtomicU64>);

#[async_trait]
impl StoreLayer for Calls {
    async fn pass(&self) -> Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// However many tasks a goal has had, a round reads as much as at first, and nothing is left but a line for each.
///
/// Shows: S4-R127.
#[tokio::test]
async fn a_round_reads_no_more_after_many_tasks_than_after_one() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let (goal, _) = task(&world, "Find it.", Status::Succeeded).await;
    let calls = Calls::default();
    let store = Arc::new(Layered::new(Arc::clone(world.store()), calls.clone()));
    let engine = Engine::builder(store, Arc::new(ScriptedModel::new([])))
        .kinds(kinds(OnTaskEnd::Quiet))
        .clock(Arc::new(world.clock().clone()))
        .build();
    let reads = async || {
        let before = calls.0.load(Ordering::SeqCst);
        let reports = engine.health_round(false).await.unwrap().reports;
        (done(&reports).len(), calls.0.load(Ordering::SeqCst) - before)
    };
    let (_, first) = reads().await;
    for _ in 0..3 {
        give(&world, goal, 20).await;
        world.clock().advance(16 * DAY);
        assert!(reads().await.0 >= 20);
        assert_eq!(reads().await, (0, first));
        assert_eq!(tasks(&world, goal).await, []);
        let tree = world.client().tree(goal).await.unwrap();
        assert_eq!(tree.iter().map(|agent| agent.id).collect::<Vec<_>>(), [goal]);
    }
    assert_eq!(world.audit().await, []);
}
