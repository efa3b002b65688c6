//! Each rule by itself: what it does, when, and to whom not.

use entourage_engine::{Clock as _, HealthPolicy, HealthReport, Page};
use entourage_llm::{Error, Script, ScriptedModel};
use entourage_testkit::{Faults, World};
use entourage_types::{
    Action, HealthAct, Item, ItemBody, Kind, OnTaskEnd, ShownStatus, Status, Step, StepState, StopReason,
    Task, TaskResult, WaitingOn,
};
use serde_json::json;

use super::kit::{
    DAY, HOUR, MINUTE, SECOND, done, goal, in_status, kinds, person, round, task, tasks, world,
};
use crate::kit::{WorldExt, eventually, first_tools};

const ENDS: [OnTaskEnd; 2] = [OnTaskEnd::Quiet, OnTaskEnd::Wake];

/// Shows: S4-R109, S4-R125.
#[tokio::test]
async fn a_paused_task_is_tried_again_when_its_time_has_come() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let (_, task) = task(&world, "Be put off.", Status::Waiting).await;
    let paused = world.client().agent(task.to).await.unwrap();
    assert_eq!(paused.waiting_on, Some(WaitingOn::Retry));
    assert_eq!(round(&world).await, [], "not before its time");
    // While nobody works, it is due, and does not expire: it has had no chance.
    world.faults().kill();
    world.clock().advance(2 * DAY);
    let operator = world.operator_with(&Faults::default());
    assert_eq!(done(&operator.health_round(false).await.unwrap().reports), [(task.to, HealthAct::Retried)]);
    assert_eq!(tasks(&world, task.from).await[0].status, Status::Queued);
    assert_eq!(world.audit().await, []);
}

/// Shows: S4-R109, S4-R111, S4-R126.
#[tokio::test]
async fn a_task_that_is_paused_for_a_day_is_cancelled_and_its_assigner_answered() {
    for on_end in ENDS {
        let world = world(on_end).start().await;
        let (goal, task) = task(&world, "Be put off.", Status::Waiting).await;
        let again = async || {
            let run = world.client().runs(task.to, Page::default()).await.unwrap().remove(0);
            let steps = world.client().steps(run.id).await.unwrap();
            let due = |step: &Step| match &step.state {
                StepState::Retry(retry) => Some(retry.due),
                _ => None,
            };
            steps.iter().find_map(due).unwrap()
        };
        // It is tried again all the time, and put off each time: it is the same pause.
        for hours in [23, 1] {
            assert_eq!(round(&world).await, [], "not yet");
            world.clock().advance(hours * HOUR);
            eventually("it is put off again", again, |due| *due > world.clock().now()).await;
            in_status(&world, task.to, Status::Waiting).await;
        }
        let report = person(&world).run_health(false).await.unwrap().reports;
        let [HealthReport { agent, what: HealthAct::Expired, why }] = &report[..] else {
            panic!("{report:?}")
        };
        assert!(*agent == task.to && why.starts_with("it was paused since 2026-01-01T"), "{why}");
        let expired = tasks(&world, goal).await.remove(0);
        let said = "it was paused for 24 hours, and expired";
        assert_eq!(
            (expired.status, expired.result),
            (Status::Cancelled, Some(TaskResult::Error(said.into())))
        );
        let run = world.client().run(expired.run.unwrap()).await.unwrap();
        assert_eq!((run.status, run.stop_reason), (Status::Failed, Some(StopReason::Cancelled)));
        assert!(run.error.is_some_and(|error| error.contains("needs a pause of 300 s")));
        assert_eq!(world.client().agent(task.to).await.unwrap().shown(), ShownStatus::Stopped);
        answered(&world, &task, on_end).await;
        assert_eq!(round(&world).await, [], "once");
        assert_eq!(world.inconsistencies().await, [""; 0]);
        assert_eq!(world.audit().await, []);
    }
}

/// Shows: S4-R124, S4-R128.
#[tokio::test]
async fn a_task_of_which_nothing_changes_for_two_hours_ends_without_a_result() {
    for on_end in ENDS {
        let world = world(on_end).start().await;
        let (goal, task) = task(&world, "Rest.", Status::Waiting).await;
        world.clock().advance(2 * HOUR - SECOND);
        assert_eq!(round(&world).await, [], "not yet");
        world.clock().advance(SECOND);
        assert_eq!(round(&world).await, [(task.to, HealthAct::Stalled)]);
        let stalled = tasks(&world, goal).await.remove(0);
        let said = "It ended without a result: nothing of it changed for 2 hours";
        assert_eq!(
            (stalled.status, stalled.result),
            (Status::Succeeded, Some(TaskResult::Text(said.into())))
        );
        let run = world.client().run(stalled.run.unwrap()).await.unwrap();
        assert_eq!((run.status, run.stop_reason), (Status::Succeeded, Some(StopReason::Stale)));
        answered(&world, &task, on_end).await;
        assert_eq!(round(&world).await, [], "once");
        // The time that it waited for comes, and finds nothing to do.
        world.clock().advance(10 * DAY);
        world.engine().advance(task.to).await.unwrap();
        assert_eq!(world.client().runs(task.to, Page::default()).await.unwrap().len(), 1);
        assert_eq!(world.inconsistencies().await, [""; 0]);
        assert_eq!(world.audit().await, []);
    }
}

/// Waits until the assigner of a task is at rest, and has read the result if its kind wants to.
async fn answered(world: &World, task: &Task, on_end: OnTaskEnd) {
    let read = async || world.client().items(task.from, 0, 100).await.unwrap();
    let is_result =
        |item: &&Item| matches!(&item.body, ItemBody::Message(message) if message.task == Some(task.id));
    let expected = usize::from(on_end == OnTaskEnd::Wake);
    eventually("it reads the result", read, |items| items.iter().filter(is_result).count() == expected).await;
    in_status(world, task.from, Status::Succeeded).await;
}

/// Shows: S4-R129.
#[tokio::test]
async fn a_goal_of_which_nothing_changes_for_six_hours_goes_back_to_rest() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let resting = goal(&world, "Rest.").await;
    let asking = goal(&world, "Ask.").await;
    let paused = goal(&world, "Ask.").await;
    for goal in [resting, asking, paused] {
        in_status(&world, goal, Status::Waiting).await;
    }
    person(&world).intervene(paused, Action::Pause, None).await.unwrap();
    let is_paused = async || world.client().agent(paused).await.unwrap().waiting_on;
    eventually("it is paused", is_paused, |on| *on == Some(WaitingOn::Resume)).await;
    world.clock().advance(6 * HOUR - SECOND);
    assert_eq!(round(&world).await, [], "not yet");
    world.clock().advance(SECOND);
    assert_eq!(round(&world).await, [(resting, HealthAct::Rested)], "who waits for a person waits");
    let rested = world.client().agent(resting).await.unwrap();
    assert_eq!((rested.status, rested.stop_reason), (Status::Succeeded, None));
    let run = world.client().runs(resting, Page::default()).await.unwrap().remove(0);
    assert_eq!(run.stop_reason, Some(StopReason::Stale));
    // It takes up the next message.
    person(&world).send(resting, "Hello?", None).await.unwrap();
    let runs = async || world.client().runs(resting, Page::default()).await.unwrap();
    let answered = eventually("it answers", runs, |runs| runs.len() == 2).await;
    assert_eq!(answered[0].stop_reason, Some(StopReason::Stale));
    in_status(&world, resting, Status::Succeeded).await;
    assert_eq!(world.audit().await, []);
}

/// The hours are settings: these are what a machine for development has.
///
/// Shows: S4-R128, S4-R129.
#[tokio::test]
async fn a_task_is_stale_after_one_hour_and_a_goal_after_three_if_the_policy_says_so() {
    let policy = HealthPolicy { stale_task: HOUR, stale_goal: 3 * HOUR, ..HealthPolicy::default() };
    let world = world(OnTaskEnd::Quiet).engine(move |engine| engine.health(policy)).start().await;
    let (_, task) = task(&world, "Rest.", Status::Waiting).await;
    let resting = goal(&world, "Rest.").await;
    in_status(&world, resting, Status::Waiting).await;
    for (hours, done) in [(1, (task.to, HealthAct::Stalled)), (2, (resting, HealthAct::Rested))] {
        world.clock().advance(hours * HOUR - SECOND);
        assert_eq!(round(&world).await, [], "not yet");
        world.clock().advance(SECOND);
        assert_eq!(round(&world).await, [done]);
    }
    assert_eq!(world.audit().await, []);
}

/// A moment that is to come is no neglect, whether an agent waits for it itself or somebody who works for it does.
///
/// Shows: S4-R124, S4-R128, S4-R129.
#[tokio::test]
async fn an_agent_that_waits_for_its_time_is_not_stale() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let sleeping = goal(&world, "Sleep.").await;
    in_status(&world, sleeping, Status::Waiting).await;
    let (resting, task) = task(&world, "Sleep.", Status::Waiting).await;
    person(&world).send(resting, "Rest.", None).await.unwrap();
    in_status(&world, resting, Status::Waiting).await;
    world.clock().advance(DAY - HOUR);
    assert_eq!(round(&world).await, []);
    world.clock().advance(HOUR);
    in_status(&world, sleeping, Status::Succeeded).await;
    in_status(&world, task.to, Status::Succeeded).await;
    let slept = tasks(&world, resting).await.remove(0);
    assert_eq!(slept.result, Some(TaskResult::Text("Rested.".into())));
    assert_eq!(round(&world).await, [(resting, HealthAct::Rested)], "nothing works for it any more");
    assert_eq!(world.audit().await, []);
}

/// Whatever a goal's agent waits for: it has not been left, as long as a task of it goes on.
///
/// Shows: S4-R129.
#[tokio::test]
async fn a_goal_is_not_stale_while_one_of_its_tasks_is_alive() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let (goal, task) = task(&world, "Be put off.", Status::Waiting).await;
    person(&world).send(goal, "Rest.", None).await.unwrap();
    in_status(&world, goal, Status::Waiting).await;
    world.clock().advance(7 * HOUR);
    let due = async || world.store().due(world.clock().now(), None, 10).await.unwrap();
    eventually("the task is put off again", due, Vec::is_empty).await;
    in_status(&world, task.to, Status::Waiting).await;
    assert_eq!(round(&world).await, [], "the task waits for its next attempt");
    person(&world).intervene(task.to, Action::Stop, None).await.unwrap();
    in_status(&world, task.to, Status::Failed).await;
    assert_eq!(round(&world).await, [(goal, HealthAct::Rested)]);
    assert_eq!(world.audit().await, []);
}

/// A process that was away for hours lets the task go on first, and the goal waits for it.
///
/// Shows: S4-R129.
#[tokio::test]
async fn a_goal_is_not_stale_while_one_of_its_tasks_is_due() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let (goal, task) = task(&world, "Be put off.", Status::Waiting).await;
    person(&world).send(goal, "Rest.", None).await.unwrap();
    in_status(&world, goal, Status::Waiting).await;
    world.faults().kill();
    world.clock().advance(7 * HOUR);
    let operator = world.operator_with(&Faults::default());
    assert_eq!(done(&operator.health_round(false).await.unwrap().reports), [(task.to, HealthAct::Retried)]);
    assert_eq!(world.client().agent(goal).await.unwrap().status, Status::Waiting);
}

/// Agents of other kinds may rest, wait and end as they like, also below one another.
///
/// Shows: S4-R126, S4-R127, S4-R128, S4-R129.
#[tokio::test]
async fn no_rule_touches_another_tree() {
    let model = ScriptedModel::deciding(|request| {
        let text = format!("{:?}", request.messages);
        Some(match () {
            () if text.contains("Be put off.") => Err(Error::Busy { model: "m".into(), after: 5 * MINUTE }),
            () if text.contains("Give.") && !text.contains("Found it.") => {
                Ok(Script::call("send_message", json!({ "recipient": "task", "message": "Find it." })))
            }
            () if text.contains("Find it.") || text.contains("Give.") => Ok(Script::text("Found it.")),
            () => Ok(Script::call("wait", json!({ "seconds": 24 * 60 * 60 }))),
        })
    });
    let all = kinds(OnTaskEnd::Quiet);
    let mut assistant = Kind::clone(&all.get("assistant").unwrap());
    assistant.peers = vec!["task".into()];
    assistant.version.clear();
    let builder = World::builder(model).tools(first_tools()).kinds(all.with(assistant));
    let world = builder.start().await;
    let resting = world.ask("Rest.").await;
    let paused = world.ask("Be put off.").await;
    let giving = world.ask("Give.").await;
    in_status(&world, resting.id, Status::Waiting).await;
    in_status(&world, paused.id, Status::Waiting).await;
    in_status(&world, giving.id, Status::Succeeded).await;
    for _ in 0..2 {
        world.clock().advance(20 * DAY);
        let now = world.clock().now();
        for agent in [resting.id, paused.id] {
            let goes_on = async || {
                world.clock().advance(SECOND);
                world.client().agent(agent).await.unwrap()
            };
            eventually("it goes on", goes_on, |agent| agent.updated >= now).await;
            in_status(&world, agent, Status::Waiting).await;
        }
        world.clock().advance(12 * HOUR);
        assert_eq!(round(&world).await, []);
    }
    assert_eq!(
        world.client().tree(giving.id).await.unwrap().len(),
        2,
        "the agent that worked for it is there"
    );
}
