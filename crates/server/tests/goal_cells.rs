//! Activity cells of a thread: each shows the state of its own call, whatever the others of its turn wait for.

use std::cell::Cell;

use entourage_engine::Kinds;
use entourage_llm::{Script, ScriptedModel};
use entourage_testkit::{FakeClock, HeldModel};
use entourage_types::{ApprovalRule, Verdict};
use serde_json::{Value, json};

use crate::{
    goal_site::{
        at_rest, at_work, changed, create, data, engine, follow, is_said, say, seen_until, turns_since,
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
        kind.approval = vec![ApprovalRule {
            tools: vec!["create_note".into()],
            effects: vec![],
            when: vec![],
            answer_seconds: None,
            otherwise: Verdict::Reject,
        }];
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

/// A person who stops an agent has met no failure.
#[tokio::test]
async fn what_a_person_stops_is_no_failure_of_the_thread() {
    let model = HeldModel::new(ScriptedModel::new([]));
    let site = at_work(engine(model.clone(), &FakeClock::default(), Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    say(&site, &goal, "Look.").await;
    model.begun().await;
    let stop = json!({ "action": "stop" });
    site.post(&format!("/v1/agents/{goal}/interventions"), &stop).await.expect(202);
    at_rest(&site, &goal).await;
    let listed = data(&site, &format!("/api/goals/{goal}/thread_messages")).await;
    let sources: Vec<&Value> = listed.iter().map(|message| &message["source"]).collect();
    assert_eq!(sources, ["user"], "{listed:#?}");
}
