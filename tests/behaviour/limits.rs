//! Every limit ends a run gracefully, with its own reason.

use std::time::Duration;

use entourage_llm::{Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Effects, FakeClock, TestTool, World};
use entourage_tests::{one_kind, plain, well_formed};
use entourage_tools::{Effect, Outcome, Toolbox, Wait};
use entourage_types::{Limits, Status, StopReason, Usage};
use serde_json::json;

/// Runs a model that never stops calling, under these limits; returns the reason and the calls made.
async fn stopped_by(limits: Limits, tools: &'static [&'static str]) -> (Option<StopReason>, usize) {
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let model = ScriptedModel::deciding(move |_: &Request| {
        let n = turn.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Some(Ok(Script::call(tools[n % tools.len()], json!({"n": n})).using(Usage {
            input: 100,
            output: 10,
            ..Usage::default()
        })))
    });
    let effects = Effects::default();
    let toolbox = tools
        .iter()
        .fold(Toolbox::new(), |toolbox, name| toolbox.with(TestTool::new(name, Effect::Pure, &effects)));
    let world = World::builder(model.clone())
        .tools(toolbox)
        .kinds(one_kind(|kind| kind.limits = limits))
        .start()
        .await;
    let root = world.ask("Never stop.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let client = world.client();
    let items = client.items(root.id, 0, 500).await.unwrap();
    well_formed(&items).unwrap();
    assert!(plain(&items).last().unwrap().starts_with("notice "), "it says so at the end");
    let runs = client.runs(root.id, Page::default()).await.unwrap();
    (runs[0].stop_reason, model.requests().len())
}

#[tokio::test]
async fn model_calls_are_bounded() {
    let limits = Limits { max_steps: 4, ..Limits::default() };
    assert_eq!(stopped_by(limits, &["a", "b"]).await, (Some(StopReason::MaxSteps), 4));
}

#[tokio::test]
async fn the_fifth_call_of_one_tool_in_a_row_runs_and_is_the_last() {
    let limits = Limits { max_same_tool: 5, ..Limits::default() };
    assert_eq!(stopped_by(limits.clone(), &["a"]).await, (Some(StopReason::SameTool), 5));
    let limits = Limits { max_steps: 12, ..limits };
    assert_eq!(stopped_by(limits, &["a", "b"]).await, (Some(StopReason::MaxSteps), 12));
}

#[tokio::test]
async fn tokens_are_bounded() {
    // A third call would take in 110 tokens at least.
    let limits = Limits { max_tokens: 300, ..Limits::default() };
    assert_eq!(stopped_by(limits, &["a", "b"]).await, (Some(StopReason::MaxTokens), 2));
}

#[tokio::test]
async fn time_at_work_is_bounded_and_time_asleep_is_not() {
    let clock = FakeClock::default();
    let hands = clock.clone();
    let slow = TestTool::answering("slow", Effect::Pure, &Effects::default(), move |_, _| {
        hands.advance(Duration::from_secs(70));
        Ok(Outcome::text("worked"))
    });
    let model = ScriptedModel::new([
        Script::call("slow", json!({})),
        Script::call("wait", json!({"seconds": 3600})),
        Script::call("slow", json!({})),
        Script::text("never said"),
    ]);
    let limits = Limits { max_seconds: 120, ..Limits::default() };
    let world = World::builder(model.clone())
        .tools(Toolbox::new().with(slow).with(Wait))
        .kinds(one_kind(|kind| kind.limits = limits))
        .clock(clock)
        .start()
        .await;
    let root = world.ask("Work, rest, work.").await;
    world.asleep(&root).await;
    world.clock().advance(Duration::from_secs(3601));
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    assert_eq!(runs[0].stop_reason, Some(StopReason::MaxTime));
    assert_eq!(model.requests().len(), 3, "the hour asleep did not count, both stretches of work did");
    assert!((140_000..200_000).contains(&runs[0].worked_ms), "{}", runs[0].worked_ms);
}
