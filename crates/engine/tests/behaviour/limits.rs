//! Every limit ends a run gracefully, with its own reason.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use crate::kit::{Effects, FakeClockExt, TestTool, WorldExt, one_kind};
use entourage_engine::ChatMessage;
use entourage_llm::{Message, Price, Request, Script, ScriptedModel, ToolChoice};
use entourage_store::Page;
use entourage_testkit::{FakeClock, HeldModel, World, plain};
use entourage_tools::{Effect, Outcome, Toolbox, Wait};
use entourage_types::{
    Agent, ItemBody, Limits, NoticeCode, OnLimit, Run, RunOptions, Status, StopReason, Usage,
};
use serde_json::json;

/// Runs a model that never stops calling, under these limits; returns the reason and the calls
/// made.
///
/// The model calls tools in its last call, too, and says nothing: that fails the run, and no tool is called.
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
    assert!(plain(&items).last().unwrap().starts_with("notice "), "it says so at the end");
    let runs = client.runs(root.id, Page::default()).await.unwrap();
    (runs[0].stop_reason, model.requests().len())
}

/// Shows: S2-R072, S4-R121, S4-R100.
#[tokio::test]
async fn max_steps_bounds_the_model_calls_of_a_run() {
    let limits = Limits { max_steps: 4, ..Limits::default() };
    assert_eq!(stopped_by(limits, &["a", "b"]).await, (Some(StopReason::MaxSteps), 4));
}

/// Shows: S4-R023.
#[tokio::test]
async fn max_same_tool_allows_the_fifth_call_in_a_row_and_no_sixth() {
    let limits = Limits { max_same_tool: 5, ..Limits::default() };
    // The sixth model call is the last one, and has no tools.
    assert_eq!(stopped_by(limits.clone(), &["a"]).await, (Some(StopReason::SameTool), 6));
    let limits = Limits { max_steps: 12, ..limits };
    assert_eq!(stopped_by(limits, &["a", "b"]).await, (Some(StopReason::MaxSteps), 12));
}

/// Runs a model that makes `at_once` calls in a turn until tools are no longer offered; the calls
/// of the next turn are `further` on.
async fn run_searches(
    limits: Limits,
    at_once: usize,
    further: usize,
    turns: usize,
) -> (World, Agent, Run, ScriptedModel) {
    let turn = AtomicUsize::new(0);
    let model = ScriptedModel::deciding(move |request: &Request| {
        let turn = turn.fetch_add(1, Ordering::SeqCst);
        if request.tool_choice == ToolChoice::None || turn == turns {
            return Some(Ok(Script::text("This is what I found.")));
        }
        let searches = (turn * further..).take(at_once);
        Some(Ok(searches.fold(Script::text(""), |script, n| script.and_call("a", json!({"n": n})))))
    })
    .priced(Price { input: 3.0, output: 15.0, cached: None, cache_written: None });
    let toolbox = Toolbox::new().with(TestTool::new("a", Effect::Pure, &Effects::default()));
    let kinds = one_kind(|kind| kind.limits = limits);
    let world = World::builder(model.clone()).tools(toolbox).kinds(kinds).start().await;
    let root = world.ask("Search.").await;
    let root = world.ended(root.id).await;
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    assert_eq!(world.audit().await, []);
    (world, root, run, model)
}

#[tokio::test]
async fn twelve_calls_of_one_tool_with_other_arguments_reach_no_default_limit() {
    for (at_once, turns) in [(12, 1), (1, 12)] {
        let (_, _, run, model) = run_searches(Limits::default(), at_once, at_once, turns).await;
        assert_eq!((run.status, run.stop_reason), (Status::Succeeded, Some(StopReason::Completed)));
        assert_eq!(model.requests().len(), turns + 1, "it answers by itself");
    }
}

/// Shows: S2-R019.
#[tokio::test]
async fn the_last_model_call_under_a_limit_has_no_tools_and_can_still_succeed() {
    let limits = Limits::default();
    let met = [
        (Limits { max_steps: 3, ..limits.clone() }, StopReason::MaxSteps, "2 of 3 model calls were made"),
        (
            Limits { max_same_tool: 2, ..limits.clone() },
            StopReason::SameTool,
            "`a` was called 2 times in a row",
        ),
        // Each call reads 10 tokens, and 5 more of the previous answer, and writes 5.
        (
            Limits { max_tokens: 60, ..limits.clone() },
            StopReason::MaxTokens,
            "30 tokens were used, and the limit of 60 leaves one more call",
        ),
        (
            Limits { max_cost: Some("$0.000400".parse().unwrap()), ..limits.clone() },
            StopReason::MaxCost,
            "$0.000210 was spent, and the limit of $0.000400 leaves one more call",
        ),
        (
            Limits { max_repeats: 2, ..limits },
            StopReason::Stalled,
            "calling `a`, `a` in the same way had the same result 2 times in a row",
        ),
    ];
    for (limits, reason, said) in met {
        let further = if reason == StopReason::Stalled { 0 } else { 2 };
        let (world, root, run, model) = run_searches(limits, 2, further, 100).await;
        assert_eq!((run.status, run.stop_reason, run.error), (Status::Succeeded, Some(reason), None));
        let requests = model.requests();
        let choices: Vec<_> = requests.iter().map(|request| request.tool_choice).collect();
        assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::None]);
        assert_eq!(requests[0].tools, requests[2].tools, "what comes first of a request stays the same");
        let told = format!("<limit_met>{said}. No more calls: answer now with what there is.</limit_met>");
        assert_eq!(requests[2].messages.last(), Some(&Message::Notice(told)));
        let shown = world.client().transcript(root.id).await.unwrap();
        let shown: Vec<_> = shown.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(shown, ["Search.", "This is what I found."]);
    }
}

/// Shows: S2-R017.
#[tokio::test]
async fn the_senders_max_steps_can_only_lower_that_of_the_kind() {
    for (of_kind, of_caller) in [(3, 2), (2, 3)] {
        let turn = AtomicUsize::new(0);
        let model = ScriptedModel::deciding(move |_: &Request| {
            Some(Ok(Script::call("a", json!({"n": turn.fetch_add(1, Ordering::SeqCst)}))))
        });
        let toolbox = Toolbox::new().with(TestTool::new("a", Effect::Pure, &Effects::default()));
        let kinds = one_kind(|kind| kind.limits.max_steps = of_kind);
        let world = World::builder(model.clone()).tools(toolbox).kinds(kinds).start().await;
        let options = RunOptions { max_steps: Some(of_caller), ..RunOptions::default() };
        let speech = ChatMessage {
            chat: "c".into(),
            to: "assistant".into(),
            text: "Go.".into(),
            options,
            ..ChatMessage::default()
        };
        let spoken = world.client().speak(speech, None).await.unwrap();
        assert_eq!(world.ended(spoken.root).await.status, Status::Failed);
        assert_eq!(model.requests().len(), 2, "the smaller limit wins");
    }
}

/// Shows: S4-R121.
#[tokio::test]
async fn max_tokens_bounds_the_tokens_of_a_run() {
    // A third call would read 110 tokens at least.
    let limits = Limits { max_tokens: 300, ..Limits::default() };
    assert_eq!(stopped_by(limits, &["a", "b"]).await, (Some(StopReason::MaxTokens), 2));
}

/// Shows: S4-R121, S4-R023.
#[tokio::test]
async fn max_seconds_counts_time_at_work_and_not_time_asleep() {
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
        Script::text("So far I have this."),
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
    // An activation that was at work over the hour is taken for stuck, and follows after a delay.
    let delays = async {
        loop {
            world.clock().advance_to_sleeper(Duration::from_secs(1)).await;
        }
    };
    let ended = tokio::select! { ended = world.ended(root.id) => ended, () = delays => unreachable!() };
    assert_eq!(ended.status, Status::Succeeded);
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    assert_eq!(runs[0].stop_reason, Some(StopReason::MaxTime));
    let requests = model.requests();
    assert_eq!(requests.len(), 4, "the hour asleep did not count, both stretches of work did");
    assert_eq!(requests[3].tool_choice, ToolChoice::None);
    assert!((140_000..200_000).contains(&runs[0].worked_ms), "{}", runs[0].worked_ms);
}

/// A model that streams without end is silent never, and its run must end all the same.
#[tokio::test]
async fn max_seconds_cuts_off_a_model_call_and_leaves_a_last_one() {
    for answers in [true, false] {
        let model = HeldModel::new(ScriptedModel::new([Script::text("This much.")]));
        let limits = Limits { max_seconds: 120, ..Limits::default() };
        let kinds = one_kind(|kind| kind.limits = limits.clone());
        let world = World::builder(model.clone()).kinds(kinds).start().await;
        let root = world.ask("Tell me all.").await;
        model.begun().await;
        world.clock().advance(Duration::from_secs(121));
        model.begun().await;
        assert_eq!(model.cut_off(), 1);
        if answers {
            model.let_go(1);
        } else {
            world.clock().advance(Duration::from_secs(61));
        }
        let status = world.ended(root.id).await.status;
        assert_eq!(status, if answers { Status::Succeeded } else { Status::Failed });
        let runs = world.client().runs(root.id, Page::default()).await.unwrap();
        assert_eq!(runs[0].stop_reason, Some(StopReason::MaxTime));
    }
}

/// Runs a model that calls a tool, which takes 70 seconds, in every turn, also in its last one; the usages are those of
/// its turns, the last one for all that follow.
async fn never_ending(
    limits: &Limits,
    on_limit: OnLimit,
    usages: &'static [Usage],
) -> (World, Agent, Run, ScriptedModel) {
    let turn = AtomicUsize::new(0);
    let model = ScriptedModel::deciding(move |_: &Request| {
        let n = turn.fetch_add(1, Ordering::SeqCst);
        let script = Script::text(format!("Looking {n}.")).and_call("a", json!({"n": n}));
        Some(Ok(script.using(usages[n.min(usages.len() - 1)])))
    })
    .priced(Price { input: 3.0, output: 15.0, cached: None, cache_written: None });
    let clock = FakeClock::default();
    let hands = clock.clone();
    let slow = TestTool::answering("a", Effect::Pure, &Effects::default(), move |_, _| {
        hands.advance(Duration::from_secs(70));
        Ok(Outcome::text("found"))
    });
    let kinds = one_kind(|kind| (kind.limits, kind.on_limit) = (limits.clone(), on_limit));
    let builder = World::builder(model.clone()).tools(Toolbox::new().with(slow)).kinds(kinds);
    let world = builder.clock(clock).start().await;
    let root = world.ask("Search.").await;
    let root = world.ended(root.id).await;
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    assert_eq!(world.audit().await, []);
    (world, root, run, model)
}

/// How many of the requests are without tools.
fn without_tools(model: &ScriptedModel) -> usize {
    model.requests().iter().filter(|request| request.tool_choice == ToolChoice::None).count()
}

/// Whether a transcript has a notice that its run ended with an error.
async fn says_error(world: &World, root: &Agent) -> bool {
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    let is_error = |body: &ItemBody| matches!(body, ItemBody::Notice(notice) if matches!(notice.code, NoticeCode::Ended(_)));
    items.iter().any(|item| is_error(&item.body))
}

/// What a call of a usual turn uses: $0.00045, and the next one costs $0.00033 for what it takes in alone.
const USUAL: Usage = Usage { input: 100, output: 10, reasoning: 0, cached: 0, cache_written: 0 };

#[tokio::test]
async fn a_kind_says_what_each_limit_means() {
    let limits = Limits::default();
    // Where a limit fails the run, no call is kept for an answer: it may have one more that works.
    for (limits, reason, with_answer, failing) in [
        (Limits { max_steps: 3, ..limits.clone() }, StopReason::MaxSteps, 3, 3),
        (Limits { max_tokens: 340, ..limits.clone() }, StopReason::MaxTokens, 2, 3),
        (
            Limits { max_cost: Some("$0.001400".parse().unwrap()), ..limits.clone() },
            StopReason::MaxCost,
            2,
            3,
        ),
        (Limits { max_seconds: 120, ..limits.clone() }, StopReason::MaxTime, 3, 2),
        (Limits { max_same_tool: 2, ..limits }, StopReason::SameTool, 3, 2),
    ] {
        for (on_limit, status, asked, last_calls) in [
            (OnLimit::Answer, Status::Succeeded, with_answer, 1),
            (OnLimit::Finish, Status::Succeeded, with_answer, 1),
            (OnLimit::Fail, Status::Failed, failing, 0),
        ] {
            let case = format!("{reason} {on_limit}");
            let (world, root, run, model) = never_ending(&limits, on_limit, &[USUAL]).await;
            assert_eq!((model.requests().len(), without_tools(&model)), (asked, last_calls), "{case}");
            assert_eq!((run.status, run.stop_reason), (status, Some(reason)), "{case}");
            assert_eq!(run.error.is_some(), status == Status::Failed, "{case}");
            assert_eq!(root.status, status, "{case}");
            assert_eq!(says_error(&world, &root).await, status == Status::Failed, "{case}");
        }
    }
}

/// A model may call tools that it is not offered: what it says beside such calls is its answer.
#[tokio::test]
async fn the_text_beside_calls_in_the_last_model_call_is_the_answer_and_the_calls_are_not_made() {
    for on_limit in [OnLimit::Answer, OnLimit::Finish] {
        let script = ["first", "second"].map(|text| Script::text(text).and_call("a", json!({"n": 1})));
        let effects = Effects::default();
        let toolbox = Toolbox::new().with(TestTool::new("a", Effect::Unsafe, &effects));
        let kinds = one_kind(|kind| (kind.limits.max_steps, kind.on_limit) = (2, on_limit));
        let world = World::builder(ScriptedModel::new(script)).tools(toolbox).kinds(kinds).start().await;
        let root = world.ask("Look.").await;
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded, "{on_limit}");
        let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
        assert_eq!((run.status, run.stop_reason), (Status::Succeeded, Some(StopReason::MaxSteps)));
        let items = world.client().items(root.id, 0, 100).await.unwrap();
        let last = items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Turn(turn) => Some((turn.text.as_str(), turn.calls.len())),
            _ => None,
        });
        assert_eq!(last, Some(("second", 0)), "{on_limit}");
        assert_eq!(effects.per_call(), [1], "only the call of the first turn is made");
        assert_eq!(world.audit().await, []);
    }
}

/// A call may use far more than the one before: then no call is left for an answer.
#[tokio::test]
async fn a_kind_says_what_a_limit_means_that_leaves_no_call() {
    const USAGES: &[Usage] = &[USUAL, Usage { input: 5_000, ..USUAL }];
    let limits = Limits::default();
    for (limits, reason) in [
        (Limits { max_tokens: 1_000, ..limits.clone() }, StopReason::MaxTokens),
        (Limits { max_cost: Some("$0.01".parse().unwrap()), ..limits }, StopReason::MaxCost),
    ] {
        for (on_limit, status) in [
            (OnLimit::Answer, Status::Failed),
            (OnLimit::Finish, Status::Succeeded),
            (OnLimit::Fail, Status::Failed),
        ] {
            let case = format!("{reason} {on_limit}");
            let (world, root, run, model) = never_ending(&limits, on_limit, USAGES).await;
            assert_eq!((model.requests().len(), without_tools(&model)), (2, 0), "{case}");
            assert_eq!((run.status, run.stop_reason), (status, Some(reason)), "{case}");
            assert_eq!(run.error.is_some(), status == Status::Failed, "{case}");
            assert_eq!(says_error(&world, &root).await, status == Status::Failed, "{case}");
        }
    }
}

/// A parent gets what a helper wrote before its limit, and no error, if the helper's kind finishes at its limits;
/// without any text it gets how the run ended.
#[tokio::test]
async fn a_helper_that_finishes_at_its_limit_reports_what_it_has() {
    for (text, expected) in [
        ("So far: red.", "So far: red."),
        ("", "It ended at a limit, without an answer: 1 of 2 model calls were made"),
    ] {
        let model = ScriptedModel::deciding(move |request: &Request| {
            Some(Ok(match (request.system.starts_with("helper"), request.messages.last()) {
                (true, _) if request.tool_choice == ToolChoice::None => Script::call("a", json!({"n": 2})),
                (true, _) => Script::text(text).and_call("a", json!({"n": 1})),
                (false, Some(Message::User(_))) => {
                    Script::call("send_message", json!({"recipient": "helper", "message": "look"}))
                }
                _ => Script::text("Done."),
            }))
        });
        let mut helper = entourage_types::Kind::bare("helper");
        (helper.instructions, helper.on_limit) = ("helper: looks.".into(), OnLimit::Finish);
        helper.limits.max_steps = 2;
        let kinds = one_kind(|kind| kind.peers = vec!["helper".into()]).with(helper);
        let toolbox = crate::kit::first_tools().with(TestTool::new("a", Effect::Pure, &Effects::default()));
        let world = World::builder(model).tools(toolbox).kinds(kinds).start().await;
        let root = world.ask("Look.").await;
        world.ended(root.id).await;
        let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
        assert!(
            lines
                .iter()
                .any(|line| line.strip_prefix("output: ").is_some_and(|line| line.contains(expected))),
            "{lines:?}"
        );
        assert_eq!(world.audit().await, []);
    }
}
