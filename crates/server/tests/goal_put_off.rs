//! Model calls that were put off in a thread: what is said of them is over once they are made, and a wait for a budget is
//! no failure.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use entourage_engine::{Clock as _, Kinds};
use entourage_llm::{Error as ModelError, ScriptedModel};
use entourage_testkit::FakeClock;
use entourage_types::Time;
use serde_json::{Value, json};

use crate::{
    goal_site::{
        at_rest, at_work, changed, create, data, engine, eventually, follow, is_said, say, seen_until, speak,
    },
    stream::Frame,
};

fn busy() -> ModelError {
    ModelError::Busy { model: "m".into(), after: Duration::from_secs(300) }
}

fn is_error(frame: &Frame) -> bool {
    frame.event == "message" && frame.data["source"] == "error"
}

/// The messages about failures among these frames: the id of each, and whether it is resolved.
fn of_errors(frames: &[Frame]) -> Vec<(&Value, &Value)> {
    let errors = frames.iter().filter(|frame| is_error(frame));
    errors.map(|frame| (&frame.data["id"], &frame.data["metadata"]["resolved"])).collect()
}

/// Has the clock pass the time at which the next attempt is made.
fn pass(clock: &FakeClock, failure: &Value) {
    let due: Time = failure["metadata"]["next_retry_at"].as_str().unwrap().parse().unwrap();
    clock.advance(due.since(clock.now()));
}

/// Also where the goal has been spoken with before, and for who comes back later.
#[tokio::test]
async fn a_call_that_was_put_off_is_over_on_every_stream_once_it_was_made() {
    let asked = AtomicUsize::new(0);
    let model = ScriptedModel::deciding(move |request| {
        Some(match asked.fetch_add(1, Ordering::SeqCst) {
            1 => Err(busy()),
            _ => Ok(speak(request)),
        })
    });
    let clock = FakeClock::default();
    let site = at_work(engine(model, &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let (thread, stream) =
        (format!("/api/goals/{goal}/thread_messages"), format!("/api/goals/{goal}/stream"));
    say(&site, &goal, "First.").await;
    at_rest(&site, &goal).await;
    let mut live = follow(&site, &stream, None).await;
    say(&site, &goal, "Second.").await;
    let seen = seen_until(&mut live, is_error).await;
    let number = seen.last().unwrap().id;
    let listed = eventually(&site, &thread, |page| page["data"][3]["source"] == "error").await;
    let put_off = &listed["data"][3];
    assert_eq!(of_errors(&seen), [(&put_off["id"], &Value::Null)]);
    let later = follow(&site, &stream, None).await;
    pass(&clock, put_off);
    let is_over = |frame: &Frame| is_said(frame, "Done: Second.");
    for stream in [live, later] {
        let seen = stream.until(is_over).await;
        assert_eq!(of_errors(&seen).last(), Some(&(&put_off["id"], &json!(true))), "{seen:?}");
    }
    at_rest(&site, &goal).await;
    let again = follow(&site, &stream, number).await.until(is_over).await;
    assert_eq!(of_errors(&again), [(&put_off["id"], &json!(true))]);
    assert_eq!(data(&site, &thread).await.len(), 4, "two messages and their answers");
}

/// The list and the stream agree: a call that waits for room in a budget has not failed, and what failed before it waited
/// is not shown any more.
#[tokio::test]
async fn a_wait_for_a_budget_is_no_failure_and_ends_what_was_said_of_one() {
    let left = Arc::new(AtomicUsize::new(0));
    let failures = Arc::clone(&left);
    let model = ScriptedModel::deciding(move |request| {
        let fails =
            failures.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        let (model, cause) = ("m".into(), "reset".into());
        Some(match fails {
            true => Err(ModelError::Unreachable { model, cause, sent: false }),
            false => Ok(speak(request)),
        })
    });
    let clock = FakeClock::default();
    let kinds = changed("goal", |kind| {
        kind.limits.max_tree_tokens = Some(10);
        kind.limits.max_answer_tokens = Some(100);
    });
    let site = at_work(engine(model, &clock, kinds).build()).await;
    let goal = create(&site).await;
    let (thread, stream) =
        (format!("/api/goals/{goal}/thread_messages"), format!("/api/goals/{goal}/stream"));
    let budget = format!("/v1/agents/{goal}/budget");
    let mut live = follow(&site, &stream, None).await;
    let lacks_room = |why: &Value| why["on"] == "budget";
    say(&site, &goal, "Hello.").await;
    eventually(&site, &format!("/v1/agents/{goal}/why"), lacks_room).await;
    assert_eq!(data(&site, &thread).await.len(), 1, "the message alone");
    site.post(&budget, &json!({ "tokens": 1_000_000 })).await.expect(200);
    let seen = seen_until(&mut live, |frame| is_said(frame, "Done: Hello.")).await;
    assert_eq!(of_errors(&seen), []);
    at_rest(&site, &goal).await;
    left.store(1, Ordering::SeqCst);
    say(&site, &goal, "Again.").await;
    let seen = seen_until(&mut live, is_error).await;
    let failed = &seen.last().unwrap().data;
    let shown = data(&site, &budget).await.remove(0);
    let [allowed, granted, spent] =
        ["allowance", "granted", "spent"].map(|of| shown[of]["tokens"].as_u64().unwrap());
    site.post(&budget, &json!({ "tokens": allowed + granted - spent, "take_back": true })).await.expect(200);
    pass(&clock, failed);
    eventually(&site, &format!("/v1/agents/{goal}/why"), lacks_room).await;
    assert_eq!(data(&site, &thread).await.len(), 3, "the second message has no answer yet, and no failure");
    let resolved = seen_until(&mut live, is_error).await;
    assert_eq!(of_errors(&resolved), [(&failed["id"], &json!(true))]);
}
