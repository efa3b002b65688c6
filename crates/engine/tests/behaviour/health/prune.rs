//! Tasks that ended long ago are forgotten in the living tree of their goal.

use entourage_engine::{Error, NewSchedule};
use entourage_testkit::World;
use entourage_types::{AgentId, EventBody, HealthAct, OnTaskEnd, Recurrence, Scope, Status, Task, Trigger};
use serde_json::Value;

use super::kit::{DAY, SECOND, counted, done, in_status, person, round, task, tasks, world};
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

/// A task whose agent will work again stays, and none of the others waits for that.
///
/// Shows: S4-R127.
#[tokio::test]
async fn a_task_with_a_schedule_is_passed_over_until_that_has_ended() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let (goal, first) = task(&world, "Find it.", Status::Succeeded).await;
    let second = give(&world, goal, 1).await.pop().unwrap();
    let client = person(&world);
    let yearly = NewSchedule {
        agent: first.to,
        text: "Look again.".into(),
        trigger: Trigger { name: "look".into(), payload: Value::Null, schedule: None },
        first: Some(world.client().agent(goal).await.unwrap().updated + 365 * DAY),
        recurrence: Recurrence::Once,
    };
    let schedule = client.schedule(yearly, None).await.unwrap();
    world.clock().advance(16 * DAY);
    assert_eq!(round(&world).await, [(second.to, HealthAct::Pruned)]);
    assert_eq!(round(&world).await, [], "it is not tried in vain");
    assert_eq!(tasks(&world, goal).await.iter().map(|task| task.id).collect::<Vec<_>>(), [first.id]);
    client.end_schedule(schedule.id).await.unwrap();
    // It may have to serve the wake-up of the schedule first.
    let rounds = async || round(&world).await;
    eventually("it is forgotten", rounds, |done| *done == [(first.to, HealthAct::Pruned)]).await;
    assert_eq!(tasks(&world, goal).await, []);
    assert_eq!(world.audit().await, []);
}

/// However many tasks a goal has had, a round reads as much as at first, and nothing is left but a line for each.
///
/// Shows: S4-R127.
#[tokio::test]
async fn a_round_reads_no_more_after_many_tasks_than_after_one() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let (goal, _) = task(&world, "Find it.", Status::Succeeded).await;
    let (engine, calls) = counted(world.store(), &world);
    let reads = async || {
        let before = calls.so_far();
        let reports = engine.health_round(false).await.unwrap().reports;
        (done(&reports).len(), calls.so_far() - before)
    };
    world.clock().advance(16 * DAY);
    assert_eq!(reads().await.0, 1);
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
