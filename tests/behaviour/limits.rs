//! Every limit ends a run gracefully, with its own reason.

use entourage_llm::{Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Effects, TestTool, World};
use entourage_tests::{one_kind, plain, well_formed};
use entourage_tools::{Effect, Toolbox};
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
    let limits = Limits { max_tokens: 300, ..Limits::default() };
    assert_eq!(stopped_by(limits, &["a", "b"]).await, (Some(StopReason::MaxTokens), 3));
}
