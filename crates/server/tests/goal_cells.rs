//! Activity cells of a thread: each shows the state of its own call, whatever the others of its turn wait for.

use std::cell::Cell;

use entourage_engine::Kinds;
use entourage_llm::{Error as ModelError, Script, ScriptedModel};
use entourage_testkit::{FakeClock, HeldModel};
use entourage_types::{ApprovalRule, OnLimit};
use serde_json::{Value, json};

use crate::{
    goal_site::{
        at_rest, at_work, changed, create, data, engine, eventually, follow, is_said, say, seen_until,
        turns_since,
    },
    stream::Frame,
};

/// The tools of a thread's cells, with their states.
fn cells(messages: &[Value]) -> Vec<[String; 2]> {
    let cells = messages.iter().filter(|message| message["message_type"] == "tool");
    cells
        .map(|cell| ["tool_name", "status"].map(|of| cell["metadata"][of].as_str().unwrap().to_owned()))
        .collect()
}

/// A call that is done says so while another one of its turn waits for an approval, in the list as in the stream, which
/// tells each change once.
///
/// Shows: S4-R029, S4-R031, S4-R034.
#[tokio::test]
async fn a_call_that_is_done_says_so_while_another_of_its_turn_waits() {
    let note = |title: &str| json!({ "title": title, "content": "It is blue." });
    let model = ScriptedModel::deciding(move |request| {
        Some(Ok(match turns_since(request).0 {
            0 => Script::call("create_note", note("A"))
                .and_call("save_learning", json!({ "text": "Trains." }))
                .and_call("search_notes", json!({})),
            _ => Script::call("send_message", json!({ "message": "Done." })),
        }))
    });
    let kinds = changed("goal", |kind| {
        kind.approval = vec![ApprovalRule::of("create_note")];
    });
    let clock = FakeClock::default();
    let site = at_work(engine(model, &clock, kinds).build()).await;
    let goal = create(&site).await;
    let (thread, stream) =
        (format!("/api/goals/{goal}/thread_messages"), format!("/api/goals/{goal}/stream"));
    let mut live = follow(&site, &stream, None).await;
    say(&site, &goal, "Try them.").await;
    // Two of the three have ended, in whatever order, and the question is asked.
    let awaited = Cell::new(3);
    let has_come = |frame: &Frame| {
        let status = &frame.data["metadata"]["status"];
        let is_one = ["awaiting_user", "completed", "failed"].iter().any(|word| status == word);
        awaited.set(awaited.get() - u32::from(is_one));
        awaited.get() == 0
    };
    let mut seen = seen_until(&mut live, has_come).await;
    let listed = data(&site, &thread).await;
    let waiting =
        [["create_note", "awaiting_user"], ["save_learning", "completed"], ["search_notes", "failed"]];
    assert_eq!(cells(&listed), waiting.map(|cell| cell.map(str::to_owned)));
    // Streams that go on from there while the question is open, from whatever number.
    let mut resumed = Vec::new();
    for number in seen.iter().filter_map(|frame| frame.id) {
        let before = seen.iter().take_while(|frame| frame.id.is_none_or(|id| id <= number));
        let before: Vec<Frame> = before.cloned().collect();
        resumed.push((number, before, follow(&site, &stream, Some(number)).await));
    }
    let question = listed[1]["metadata"]["question_id"].as_str().unwrap();
    let answer = json!({ "verdict": "approve" });
    site.post(&format!("/v1/questions/{question}/answer"), &answer).await.expect(200);
    seen.extend(seen_until(&mut live, |frame| is_said(frame, "Done.")).await);
    at_rest(&site, &goal).await;
    let listed = data(&site, &thread).await;
    let ended = [["create_note", "completed"], ["save_learning", "completed"], ["search_notes", "failed"]];
    assert_eq!(cells(&listed), ended.map(|cell| cell.map(str::to_owned)));
    // Each cell was told when it began and when it ended, and no oftener.
    let told = |at: usize, frames: &[Frame]| {
        let of_cell =
            frames.iter().filter(|frame| frame.event == "message" && frame.data["id"] == listed[at]["id"]);
        of_cell.map(|frame| frame.data["metadata"]["status"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(told(1, &seen), ["running", "awaiting_user", "running", "completed"]);
    assert_eq!(
        (told(2, &seen), told(3, &seen)),
        (vec![json!("running"), json!("completed")], vec![json!("running"), json!("failed")])
    );
    assert_eq!(seen.iter().filter(|frame| frame.event == "tool_complete").count(), 3);
    for (number, mut whole, rest) in resumed {
        whole.extend(rest.until(|frame| is_said(frame, "Done.")).await);
        let last = [1, 2, 3].map(|at| told(at, &whole).pop());
        assert_eq!(last, ["completed", "completed", "failed"].map(|status| Some(json!(status))), "{number}");
    }
    // Who comes back after whatever number ends with the same states.
    for number in seen.iter().filter_map(|frame| frame.id) {
        let before = seen.iter().take_while(|frame| frame.id.is_none_or(|id| id <= number));
        let mut whole: Vec<Frame> = before.cloned().collect();
        if whole.iter().any(|frame| is_said(frame, "Done.")) {
            continue;
        }
        let rest = follow(&site, &stream, Some(number)).await;
        whole.extend(rest.until(|frame| is_said(frame, "Done.")).await);
        let last = [1, 2, 3].map(|at| told(at, &whole).pop());
        assert_eq!(last, ["completed", "completed", "failed"].map(|status| Some(json!(status))), "{number}");
    }
}

/// Messages about failures among these frames: whether each is resolved.
fn failures(frames: &[Frame]) -> Vec<Value> {
    let of_error = frames.iter().filter(|frame| frame.event == "message" && frame.data["source"] == "error");
    of_error.map(|frame| frame.data["metadata"]["resolved"].clone()).collect()
}

/// A person who stops an agent has met no failure: neither the thread nor its stream tells of one.
#[tokio::test]
async fn what_a_person_stops_is_no_failure_of_the_thread() {
    let model = HeldModel::new(ScriptedModel::new([]));
    let site = at_work(engine(model.clone(), &FakeClock::default(), Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let live = follow(&site, &format!("/api/goals/{goal}/stream"), None).await;
    say(&site, &goal, "Look.").await;
    model.begun().await;
    let stop = json!({ "action": "stop" });
    site.post(&format!("/v1/agents/{goal}/interventions"), &stop).await.expect(202);
    at_rest(&site, &goal).await;
    let listed = data(&site, &format!("/api/goals/{goal}/thread_messages")).await;
    let sources: Vec<&Value> = listed.iter().map(|message| &message["source"]).collect();
    assert_eq!(sources, ["user"], "{listed:#?}");
    say(&site, &goal, "The last one.").await;
    let seen = live.until(|frame| frame.data["content"] == "The last one.").await;
    assert_eq!(failures(&seen), [json!(null); 0]);
}

/// A person who stops an agent between two attempts ends what the failed one said, also on a stream that began later, or
/// that goes on from before.
#[tokio::test]
async fn a_stop_between_two_attempts_resolves_the_failure() {
    let model = ScriptedModel::deciding(|_| {
        let (model, cause) = ("m".into(), "reset".into());
        Some(Err(ModelError::Unreachable { model, cause, sent: false }))
    });
    let site = at_work(engine(model, &FakeClock::default(), Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let (thread, stream) =
        (format!("/api/goals/{goal}/thread_messages"), format!("/api/goals/{goal}/stream"));
    let mut live = follow(&site, &stream, None).await;
    say(&site, &goal, "Look.").await;
    let failed = |frame: &Frame| frame.event == "message" && frame.data["source"] == "error";
    let mut seen = seen_until(&mut live, failed).await;
    let number = seen.last().unwrap().id;
    let of_list = eventually(&site, &thread, |page| page["data"][1]["source"] == "error").await;
    let later = follow(&site, &stream, None).await;
    site.post(&format!("/v1/agents/{goal}/interventions"), &json!({ "action": "stop" })).await.expect(202);
    let resolved = |frame: &Frame| frame.data["metadata"]["resolved"] == true;
    seen.extend(seen_until(&mut live, resolved).await);
    assert_eq!(failures(&seen), [json!(null), json!(true)]);
    let again = follow(&site, &stream, number).await;
    for stream in [later, again] {
        let last = stream.until(resolved).await.pop().unwrap().data;
        assert_eq!(last["id"], of_list["data"][1]["id"]);
        let metadata = &last["metadata"];
        assert_eq!((&metadata["error_class"], &metadata["attempt"]), (&json!("network"), &json!(1)));
    }
    at_rest(&site, &goal).await;
    assert_eq!(data(&site, &thread).await.len(), 1, "the thread has the user's message alone");
}

/// The end of a run that is no failure of a model says nothing about one.
#[tokio::test]
async fn a_run_that_met_a_limit_names_no_failed_model_call() {
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::call("create_note", json!({ "title": "A" })))));
    let kinds = changed("goal", |kind| {
        kind.on_limit = OnLimit::Fail;
        (kind.limits.max_steps, kind.limits.max_same_tool) = (2, 0);
    });
    let site = at_work(engine(model, &FakeClock::default(), kinds).build()).await;
    let goal = create(&site).await;
    say(&site, &goal, "Look.").await;
    at_rest(&site, &goal).await;
    let listed = data(&site, &format!("/api/goals/{goal}/thread_messages")).await;
    let last = listed.last().unwrap();
    assert_eq!(last["source"], "error", "{listed:#?}");
    assert_eq!(last["metadata"], json!({ "next_retry_at": null, "retryable": false }));
    assert!(!last["content"].as_str().unwrap().contains("Failed permanently"), "{last}");
}
