//! A failed model call is retried, in memory first, then after sleep; in the end the failure is
//! reported once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::kit::{FakeClockExt, WorldExt, eventually, first_tools, one_kind};
use entourage_engine::{Clock, Role};
use entourage_llm::{Error, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_types::{
    Action, Agent, AgentId, Event, EventBody, Owner, Status, StepStatus, StopReason, Time, WaitingOn,
};

fn broken() -> Error {
    Error::BadAnswer { model: "m".into(), what: "cut off".into() }
}

fn limited() -> Error {
    Error::RateLimited { model: "m".into(), retry_after: None }
}

/// When the model is asked again, by the tree's first event of this sort: the time of the event,
/// the due time, the number of attempts, and the reason.
async fn first_retry(world: &World, root: AgentId) -> (Time, Time, u32, String) {
    let events = world.until(root, |event| matches!(event.body, EventBody::Step { due: Some(_), .. })).await;
    match events.into_iter().next_back() {
        Some(Event {
            at,
            body: EventBody::Step { due: Some(due), attempt: Some(attempt), error: Some(error), .. },
            ..
        }) => (at, due, attempt, error),
        other => panic!("it does not tell all: {other:?}"),
    }
}

/// The pause in memory before the second attempt and before the third, where the provider limits the rate.
const QUICK: Duration = Duration::from_millis(1500);

/// Lets the pauses of the quick retries pass, up to this many attempts in all.
async fn through_quick_retries(world: &World, model: &ScriptedModel, attempts: usize) {
    for made in 1..attempts {
        assert_eq!(world.clock().advance_to_sleeper(QUICK).await, QUICK);
        assert_eq!(model.requests().len(), made, "not before its time");
    }
}

/// Shows: S4-R112, S4-R115.
#[tokio::test]
async fn a_retried_model_call_counts_once() {
    let model = ScriptedModel::new([]);
    model.push(Err(limited()));
    model.push(Err(limited()));
    model.push(Ok(Script::text("Here.")));
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Hello?").await;
    through_quick_retries(&world, &model, 3).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    assert_eq!((runs[0].model_calls, runs[0].usage.input), (1, 10));
    let steps = world.client().steps(runs[0].id).await.unwrap();
    assert_eq!(steps[0].attempt, 3);
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items), ["message: Hello?", "turn: Here.[]"], "failed attempts leave no trace");
}

#[tokio::test]
async fn a_long_retry_delay_sleeps_on_disk_and_survives_a_restart() {
    let model = ScriptedModel::new([]);
    model.push(Err(Error::RateLimited { model: "m".into(), retry_after: Some(Duration::from_secs(120)) }));
    model.push(Ok(Script::text("Here.")));
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Hello?").await;
    world.asleep(&root).await;
    let agent = world.client().agent(root.id).await.unwrap();
    assert_eq!(agent.waiting_on, Some(WaitingOn::Retry));
    let (asked, due, attempt, error) = first_retry(&world, root.id).await;
    let wait = due.since(asked);
    assert!((120..=122).contains(&wait.as_secs()), "the provider's time, spread a little: {wait:?}");
    assert_eq!((attempt, error.as_str()), (1, "m: too many requests, try again in 120 s"));
    let world = world.restart(Faults::default()).await;
    world.clock().advance(Duration::from_secs(119));
    world.engine().advance(root.id).await.unwrap();
    assert_eq!(model.requests().len(), 1, "not before the provider's time");
    world.clock().advance(Duration::from_secs(3));
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(model.requests().len(), 2);
}

/// Shows: S1-R068, S4-R105.
#[tokio::test]
async fn a_final_failure_is_reported_once_and_the_next_message_opens_a_new_run() {
    let model = ScriptedModel::new([]);
    model.push(Err(Error::Refused { model: "m".into(), cause: "401: check ANTHROPIC_API_KEY".into() }));
    model.push(Ok(Script::text("Better.")));
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Hello?").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let client = world.client();
    let runs = client.runs(root.id, Page::default()).await.unwrap();
    assert_eq!(runs[0].stop_reason, Some(StopReason::ModelFailed));
    assert!(runs[0].error.as_ref().unwrap().contains("ANTHROPIC_API_KEY"));
    let notices: Vec<_> = client
        .transcript(root.id)
        .await
        .unwrap()
        .into_iter()
        .filter(|entry| entry.role == Role::Notice)
        .collect();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].retryable, Some(false), "nobody waits for more");

    client.send(root.id, "Now?", None).await.unwrap();
    world
        .until(root.id, |event| matches!(&event.body, EventBody::Run { status: Status::Succeeded, .. }))
        .await;
    assert_eq!(client.runs(root.id, Page::default()).await.unwrap().len(), 2);
}

/// Shows: S4-R110, S4-R111, S4-R112, S4-R113.
#[tokio::test]
async fn a_rate_limit_is_tried_twice_within_the_call_and_five_times_after_a_sleep() {
    let model = ScriptedModel::deciding(|_| Some(Err(limited())));
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Hello?").await;
    through_quick_retries(&world, &model, 3).await;
    world.asleep(&root).await;
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    let steps = world.client().steps(runs[0].id).await.unwrap();
    assert_eq!((steps[0].status(), steps[0].attempt), (StepStatus::Retry, 3));
    assert_eq!(first_retry(&world, root.id).await.2, 3);
    fails_after(&world, &model, &root, &[10, 20, 40, 80, 160]).await;
    assert_eq!(model.requests().len(), 8);
}

/// Each sleeps at once: none is tried again within the call.
///
/// Shows: S4-R110, S4-R111, S4-R112.
#[tokio::test]
async fn a_network_error_is_tried_again_three_times_and_any_other_twice() {
    let model = || String::from("m");
    let unreachable = Error::Unreachable { model: model(), cause: "reset".into(), sent: true };
    let timed_out = Error::TimedOut { model: model(), after: Duration::from_secs(300) };
    let failed = Error::Unavailable { model: model(), cause: "HTTP 503".into(), retry_after: None };
    let (network, other): (&[u64], &[u64]) = (&[10, 20, 40], &[10, 20]);
    for (error, pauses) in [(unreachable, network), (timed_out, network), (failed, other), (broken(), other)]
    {
        let said = error.for_people();
        let model = ScriptedModel::deciding(move |_| Some(Err(error.clone())));
        let world = World::scripted(&model, first_tools()).await;
        let root = world.ask("Hello?").await;
        let last = fails_after(&world, &model, &root, pauses).await;
        assert_eq!(model.requests().len(), 1 + pauses.len(), "{said}");
        let attempts = pauses.len() + 1;
        assert_eq!(last, format!("Failed permanently after {attempts} attempts: {said}"));
    }
}

/// Lets these pauses pass, in seconds. Each sleeps on disk for as long, and two more at most. Returns the last notice.
async fn fails_after(world: &World, model: &ScriptedModel, root: &Agent, pauses: &[u64]) -> String {
    for pause in pauses {
        world.asleep(root).await;
        let before = model.requests().len();
        world.clock().advance(Duration::from_secs(*pause) - Duration::from_millis(1));
        world.engine().advance(root.id).await.unwrap();
        assert_eq!(model.requests().len(), before, "not before its time");
        world.clock().advance(Duration::from_millis(2001));
        let requests = async || model.requests().len();
        eventually("it is asked again", requests, |made| *made == before + 1).await;
    }
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let transcript = world.client().transcript(root.id).await.unwrap();
    let last = transcript.into_iter().rfind(|entry| entry.role == Role::Notice).unwrap();
    assert_eq!(last.retryable, Some(false));
    last.text
}

#[tokio::test]
async fn max_attempts_of_the_kind_limits_the_retries() {
    let model = ScriptedModel::deciding(|_| Some(Err(limited())));
    let kinds = one_kind(|kind| kind.limits.max_attempts = 2);
    let world = World::builder(model.clone()).kinds(kinds).start().await;
    let root = world.ask("Hello?").await;
    through_quick_retries(&world, &model, 2).await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    assert_eq!(model.requests().len(), 2);
}

/// A person asks for the attempt that is due in an hour, and the process ends at this commit of the activation that
/// makes it. Returns how many commits there were.
async fn hurried(at: u64, fault: Fault) -> u64 {
    let is_refused = Arc::new(AtomicBool::new(false));
    let refused = Arc::clone(&is_refused);
    let model = ScriptedModel::deciding(move |_| {
        let hour = Some(Duration::from_secs(60 * 60));
        Some(match refused.swap(true, Ordering::SeqCst) {
            false => Err(Error::RateLimited { model: "m".into(), retry_after: hour }),
            true => Ok(Script::text("Here.")),
        })
    });
    let builder = World::builder(model).kinds(one_kind(|_| {})).store(MemoryStore::default());
    let world = builder.dispatchers([]).start().await;
    let root = world.ask("Hello?").await;
    world.engine().advance(root.id).await.unwrap();
    let asleep = world.client().agent(root.id).await.unwrap();
    assert_eq!(asleep.waiting_on, Some(WaitingOn::Retry));
    world.engine().client(Owner::local()).intervene(root.id, Action::Retry, None).await.unwrap();
    let (faults, before) = (world.faults().clone(), world.faults().commits());
    faults.plan(before.saturating_add(at), fault);
    // Whether it has ended or not is read from the rows.
    drop(faults.unless_dead(world.engine().advance(root.id)).await);
    // No time passes.
    let world = world.restart(Faults::default()).await;
    let client = world.client();
    if client.agent(root.id).await.unwrap().status != Status::Succeeded {
        let due = world.store().due(world.clock().now(), None, 10).await.unwrap();
        assert!(due.iter().any(|wakeup| wakeup.agent == root.id), "{fault:?} at {at}: nothing wakes it");
        world.engine().advance(root.id).await.unwrap();
    }
    let ended = client.agent(root.id).await.unwrap();
    assert_eq!((ended.status, ended.waiting_on), (Status::Succeeded, None), "{fault:?} at {at}");
    assert_eq!(world.inconsistencies().await, [""; 0], "{fault:?} at {at}");
    assert_eq!(world.audit().await, [], "{fault:?} at {at}");
    faults.commits() - before
}

/// What a person wants now is due now, also in the next process: that knows nothing of the wish once it was read.
#[tokio::test]
async fn a_retry_by_a_person_is_due_at_once_whatever_dies_while_it_begins() {
    let commits = hurried(u64::MAX, Fault::DieBefore).await;
    assert!(commits >= 2, "{commits}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            hurried(at, fault).await;
        }
    }
}
