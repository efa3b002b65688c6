//! A tool whose calls run code, in a thread: its cell tells of what the calls that the code makes wait for.

use async_trait::async_trait;
use entourage_llm::{Script, ScriptedModel};
use entourage_testkit::FakeClock;
use entourage_tools::{Caller, CodeCalls, Context, Effect, Outcome, Result, SubCall, Tool};
use entourage_types::{ApprovalRule, ToolSpec};
use serde_json::{Value, json};

use crate::{
    goal_site::{
        at_rest, at_work, changed, create, data, engine, eventually, follow, is_said, say, seen_until,
        turns_since,
    },
    stream::Frame,
};

/// Code that writes two notes, one beside the other, and waits for both.
struct Notes;

#[async_trait]
impl Tool for Notes {
    fn name(&self) -> &str {
        "code"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("code", "Runs code.", json!({ "type": "object" })))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn comes_with(&self) -> &[&str] {
        &["create_note"]
    }

    async fn call(&self, context: &Context, _: Value) -> Result<Outcome> {
        let record = &context.sub_calls;
        if record.outputs.len() == 2 {
            return Ok(Outcome::text("Both are written."));
        }
        let note = |title: &str| SubCall {
            tool: "create_note".into(),
            arguments: json!({ "title": title, "content": "It is blue." }),
        };
        let calls = if record.calls.is_empty() { vec![note("A"), note("B")] } else { Vec::new() };
        Ok(Outcome::Calls(CodeCalls { calls, awaits: vec![vec![0, 1]], snapshot: None }))
    }
}

fn of_cell(frames: &[Frame]) -> Vec<Value> {
    let cells =
        frames.iter().filter(|frame| frame.event == "message" && frame.data["message_type"] == "tool");
    cells.map(|frame| frame.data["metadata"]["status"].clone()).collect()
}

/// The cell waits for the user until the last question about what its code does is answered, on a stream that saw all of
/// it, and on those that begin between the questions; each tells its end.
#[tokio::test]
async fn the_cell_of_code_waits_for_the_user_as_long_as_a_call_of_its_code_does() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match turns_since(request).0 {
            0 => Script::call("code", json!({})),
            _ => Script::call("send_message", json!({ "message": "Done." })),
        }))
    });
    let kinds = changed("goal", |kind| {
        kind.tools.get_or_insert_default().push("code".into());
        kind.approval = vec![ApprovalRule::of("create_note")];
    });
    let tools = entourage_tools::builtin(entourage_tools::Settings::default()).with(Notes);
    let site = at_work(engine(model, &FakeClock::default(), kinds).tools(tools).build()).await;
    let goal = create(&site).await;
    let (thread, stream) =
        (format!("/api/goals/{goal}/thread_messages"), format!("/api/goals/{goal}/stream"));
    let mut live = follow(&site, &stream, None).await;
    say(&site, &goal, "Write them.").await;
    let questions = format!("/v1/questions?status=open&root={goal}");
    let asked = eventually(&site, &questions, |page| page["data"].as_array().unwrap().len() == 2).await;
    let waits = |frame: &Frame| frame.data["metadata"]["status"] == "awaiting_user";
    let mut seen = seen_until(&mut live, waits).await;
    let cell = &data(&site, &thread).await[1]["metadata"];
    assert_eq!((&cell["tool_name"], &cell["status"]), (&json!("code"), &json!("awaiting_user")));
    let mut joined = vec![follow(&site, &stream, None).await];
    let approve = async |at: usize| {
        let id = asked["data"][at]["id"].as_str().unwrap();
        site.post(&format!("/v1/questions/{id}/answer"), &json!({ "verdict": "approve" })).await.expect(200);
    };
    approve(0).await;
    let left = |page: &Value| page["data"][1]["metadata"]["question_id"] == asked["data"][1]["id"];
    let page = eventually(&site, &thread, left).await;
    assert_eq!(page["data"][1]["metadata"]["status"], "awaiting_user", "one of the two is answered");
    joined.push(follow(&site, &stream, None).await);
    approve(1).await;
    let is_over = |frame: &Frame| is_said(frame, "Done.");
    seen.extend(seen_until(&mut live, is_over).await);
    at_rest(&site, &goal).await;
    let told = of_cell(&seen);
    assert_eq!((&told[0], told.last()), (&json!("running"), Some(&json!("completed"))), "{told:?}");
    assert!(told[1..told.len() - 2].iter().all(|status| status == "awaiting_user"), "{told:?}");
    for stream in joined {
        let told = of_cell(&stream.until(is_over).await);
        assert_eq!(told.last(), Some(&json!("completed")), "{told:?}");
    }
}
