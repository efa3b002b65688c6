//! Effects: the tool or the kind declares the effect class of a call, its intent is recorded before
//! it starts, and a person decides on a call that may have happened, within the time that the kind
//! gives.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::kit::{
    Effects, TestTool, WorldBuilderExt, WorldExt, bare, death_of, first_tools, one_kind, parsed,
};
use async_trait::async_trait;
use entourage_engine::Error;
use entourage_llm::{Script, ScriptedModel};
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_tools::{Caller, Context, Effect, Error as ToolError, Outcome, Tool, Toolbox};
use entourage_types::{
    About, Action, Agent, Answer, InDoubt, Kind, QuestionStatus, Status, Time, ToolSpec, Verdict,
};
use serde_json::{Value, json};

/// A kind parsed from its file.
fn kind_of(front: &str) -> Kind {
    parsed("payer.md", &format!("---\nname: assistant\n{front}\n---\nPay."))
}

/// A call of `pay` that had its effect before the process died; the output was not committed.
async fn interrupt_call(effect: Effect, kind: Kind) -> (World, Agent, Effects) {
    let happened = Effects::default();
    let (call, end) = (Script::call("pay", json!({"n": 1})), Script::text("Paid."));
    // Commits of the agent: receive, the turn with its intent, the output. A pure call has no
    // intent, and its turn is committed with the output: after a death the model is asked again.
    let (script, at) =
        if kind.effects.pure.is_empty() { (vec![call, end], 3) } else { (vec![call.clone(), call, end], 2) };
    let model = ScriptedModel::new(script);
    let tools = Toolbox::new().with(TestTool::new("pay", effect, &happened));
    let kinds = entourage_engine::Kinds::none().with(Kind { instructions: "Pay.".into(), ..kind });
    let world = World::builder(model).tools(tools).kinds(kinds).start_with(at, Fault::DieBefore).await;
    let root = world.ask("Pay.").await;
    death_of(world.faults()).await;
    assert_eq!(happened.per_call(), [1]);
    (world.restart(Faults::default()).await, root, happened)
}

async fn lines(world: &World, root: &Agent) -> Vec<String> {
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    plain(&items)
}

/// Asserts that no wake-up is left.
async fn assert_nothing_is_due(world: &World) {
    let due = world.store().due(Time::from_micros(i64::MAX), None, 10).await.unwrap();
    assert_eq!(due, []);
}

#[tokio::test]
async fn the_answer_of_a_person_decides_a_call_in_doubt() {
    let given_up = "output!: The call was interrupted and given up; it may have taken effect.";
    for (answer, output, times) in [
        (Answer::Retry, "output: pay: {\"n\":1}", 2),
        (Answer::Text("Retry".into()), "output: pay: {\"n\":1}", 2),
        (Answer::GiveUp, given_up, 1),
        (Answer::Declined, given_up, 1),
        (Answer::Text("Paid, receipt 7.".into()), "output: Paid, receipt 7.", 1),
    ] {
        let (world, root, happened) = interrupt_call(Effect::Unsafe, bare("assistant")).await;
        let question = world.question(root.id).await;
        assert_eq!((question.about, question.due), (About::Doubt, None));
        let proposal = question.proposal.expect("it says which call");
        assert_eq!((proposal.tool.as_str(), &proposal.arguments), ("pay", &json!({"n": 1})));
        world.client().answer(question.id, answer).await.unwrap();
        assert_eq!(lines(&world, &root).await[2], output);
        assert_eq!(happened.per_call(), [times]);
    }
}

#[tokio::test]
async fn an_expired_in_doubt_question_takes_the_declared_verdict() {
    for (otherwise, output, times) in [
        (Verdict::Retry, "output: pay: {\"n\":1}", 2),
        (
            Verdict::GiveUp,
            "output!: The call was interrupted, and no answer about its effect came in time",
            1,
        ),
    ] {
        let in_doubt = InDoubt { answer_seconds: Some(60), otherwise };
        let kind = Kind { in_doubt, ..bare("assistant") };
        let (world, root, happened) = interrupt_call(Effect::Unsafe, kind).await;
        let question = world.question(root.id).await;
        assert_eq!(question.otherwise, Some(otherwise));
        world.asleep(&root).await;
        // No process runs either: the process ends, and time passes.
        let world = world.restart(Faults::default()).await;
        world.clock().advance(Duration::from_secs(59));
        world.engine().advance(root.id).await.unwrap();
        assert_eq!(world.client().question(question.id).await.unwrap().status, QuestionStatus::Open);
        world.clock().advance(Duration::from_secs(1));
        let line = lines(&world, &root).await[2].clone();
        assert!(line.starts_with(output), "{line}");
        assert_eq!(happened.per_call(), [times]);
        let late = world.client().answer(question.id, Answer::Retry).await.unwrap_err().to_string();
        assert!(late.contains("is expired already: nobody answered, so `"), "{late}");
        assert_nothing_is_due(&world).await;
    }
}

#[tokio::test]
async fn an_answer_before_the_deadline_leaves_no_wake_up() {
    let kind = kind_of("in_doubt:\n  answer_seconds: 60\n  otherwise: retry");
    let (world, root, happened) = interrupt_call(Effect::Unsafe, kind).await;
    let question = world.question(root.id).await;
    assert_eq!(
        (question.due.map(|due| due.since(question.created)), question.otherwise),
        (Some(Duration::from_secs(60)), Some(Verdict::Retry))
    );
    world.client().answer(question.id, Answer::GiveUp).await.unwrap();
    lines(&world, &root).await;
    assert_eq!(happened.per_call(), [1]);
    assert_nothing_is_due(&world).await;
}

#[tokio::test]
async fn a_question_expires_after_the_answer_seconds_of_the_kind() {
    let kinds = one_kind(|kind| kind.limits.answer_seconds = Some(60));
    let model = ScriptedModel::new([
        Script::call("ask_user", json!({"question": "Which?"})),
        Script::text("Without, then."),
    ]);
    let world = World::builder(model).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    world.clock().advance(Duration::from_secs(60));
    assert_eq!(
        lines(&world, &root).await[2],
        "output: There was no answer in time. Continue without it, or end with what you have."
    );
    assert_eq!(world.client().question(question.id).await.unwrap().status, QuestionStatus::Expired);
}

#[tokio::test]
async fn the_kind_overrides_the_effect_class_of_a_tool() {
    for (said, times) in [("pure: pay", vec![1, 1]), ("idempotent: [p*y]", vec![2])] {
        let kind = kind_of(&format!("effects:\n  {said}"));
        let (world, root, happened) = interrupt_call(Effect::Unsafe, kind).await;
        lines(&world, &root).await;
        assert_eq!(happened.per_call(), times, "run again without asking: {said}");
    }
    // The stricter class wins.
    let (world, root, happened) =
        interrupt_call(Effect::Idempotent, kind_of("effects: { idempotent: pay, unsafe: \"*\" }")).await;
    world.client().answer(world.question(root.id).await.id, Answer::GiveUp).await.unwrap();
    lines(&world, &root).await;
    assert_eq!(happened.per_call(), [1]);
}

#[tokio::test]
async fn a_question_refuses_verdicts_that_do_not_fit_it() {
    let model = ScriptedModel::new([Script::call("ask_user", json!({"question": "Which?"}))]);
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    for wrong in [Answer::Retry, Answer::GiveUp, Answer::Granted, Answer::Expired] {
        let refused = world.client().answer(question.id, wrong).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert_eq!(world.client().question(question.id).await.unwrap(), question, "nothing has changed");
}

/// A tool that exists until it is removed, like those of a server.
struct RemovableTool {
    tool: TestTool,
    is_gone: Arc<AtomicBool>,
}

#[async_trait]
impl Tool for RemovableTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        self.tool.offer(caller).filter(|_| !self.is_gone.load(Ordering::SeqCst))
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome, ToolError> {
        self.tool.call(context, arguments).await
    }
}

/// A call that began is in doubt even if its tool no longer exists: a person is asked, and no
/// output claims that it was never made.
#[tokio::test]
async fn an_interrupted_call_is_in_doubt_even_if_its_tool_is_gone() {
    let cut_off = "The call was interrupted and may have taken effect; it cannot be made again: not allowed: \
                   there is no tool `pay`";
    for (front, answer, output) in [
        (
            "description: Pays.",
            Some(Answer::GiveUp),
            "The call was interrupted and given up; it may have taken effect.",
        ),
        ("description: Pays.", Some(Answer::Retry), cut_off),
        ("effects: { idempotent: pay }", None, cut_off),
    ] {
        let (happened, is_gone) = (Effects::default(), Arc::<AtomicBool>::default());
        let tool = TestTool::new("pay", Effect::Unsafe, &happened);
        let tools = Toolbox::new().with(RemovableTool { tool, is_gone: Arc::clone(&is_gone) });
        let model = ScriptedModel::new([Script::call("pay", json!({"n": 1})), Script::text("So.")]);
        let kinds = entourage_engine::Kinds::none().with(kind_of(front));
        let builder = World::builder(model).tools(tools).kinds(kinds);
        let world = builder.start_with(3, Fault::DieBefore).await;
        let root = world.ask("Pay.").await;
        death_of(world.faults()).await;
        assert_eq!(happened.per_call(), [1]);
        is_gone.store(true, Ordering::SeqCst);
        let world = world.restart(Faults::default()).await;
        if let Some(answer) = answer {
            let question = world.question(root.id).await;
            assert_eq!(question.about, About::Doubt);
            world.client().answer(question.id, answer).await.unwrap();
        }
        let line = lines(&world, &root).await[2].clone();
        assert!(line.starts_with(&format!("output!: {output}")), "{line}");
        assert_eq!(happened.per_call(), [1]);
    }
}

/// A tool that does not know whether it had an effect leads to a question, like one that was
/// interrupted.
#[tokio::test]
async fn an_unsafe_call_whose_tool_reports_doubt_asks_a_person() {
    let happened = Effects::default();
    let lost = TestTool::answering("pay", Effect::Unsafe, &happened, |_, _| {
        Err(ToolError::InDoubt("the server was lost during the call".into()))
    });
    let model = ScriptedModel::new([Script::call("pay", json!({"n": 1})), Script::text("So.")]);
    let tools = Toolbox::new().with(lost);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Pay.").await;
    let question = world.question(root.id).await;
    assert_eq!(question.about, About::Doubt);
    world.client().answer(question.id, Answer::Text("Paid, receipt 7.".into())).await.unwrap();
    assert_eq!(lines(&world, &root).await[2], "output: Paid, receipt 7.");
}

/// A tool that changes when its server restarts.
struct ChangingTool {
    tool: TestTool,
    has_changed: Arc<AtomicBool>,
    /// The effect class that it then declares.
    effect: Effect,
    /// The argument that it then requires.
    required: &'static str,
}

impl ChangingTool {
    fn new(happened: &Effects, effect: Effect, required: &'static str) -> (Self, Arc<AtomicBool>) {
        let has_changed = Arc::<AtomicBool>::default();
        let tool = TestTool::new("pay", Effect::Unsafe, happened);
        (Self { tool, has_changed: Arc::clone(&has_changed), effect, required }, has_changed)
    }

    fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for ChangingTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let mut spec = self.tool.offer(caller)?;
        if self.has_changed() {
            spec.parameters = json!({"type": "object", "required": [self.required]});
        }
        Some(spec)
    }

    fn effect(&self) -> Effect {
        if self.has_changed() { self.effect } else { self.tool.effect() }
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome, ToolError> {
        self.tool.call(context, arguments).await
    }
}

/// What a tool declares after a crash does not decide about a call that began before, even if a
/// person had approved that: a call that may have paid is asked about each time it is interrupted.
#[tokio::test]
async fn a_call_keeps_the_effect_class_it_had_when_it_began() {
    for later in [Effect::Pure, Effect::Idempotent] {
        for front in ["description: Pays.", "approval: [{ tools: pay }]"] {
            let happened = Effects::default();
            let (tool, has_changed) = ChangingTool::new(&happened, later, "n");
            let model = ScriptedModel::new([Script::call("pay", json!({"n": 1})), Script::text("So.")]);
            let kinds = entourage_engine::Kinds::none().with(kind_of(front));
            let approved = front.starts_with("approval");
            let builder = World::builder(model).tools(Toolbox::new().with(tool)).kinds(kinds);
            let world = builder.start_with(if approved { 5 } else { 3 }, Fault::DieBefore).await;
            let root = world.ask("Pay.").await;
            if approved {
                let question = world.question(root.id).await;
                let leave = Answer::Approve { always: false, arguments: None, digest: None };
                world.client().answer(question.id, leave).await.unwrap();
            }
            death_of(world.faults()).await;
            assert_eq!(happened.per_call(), [1], "{later:?} {front}");
            has_changed.store(true, Ordering::SeqCst);
            // The first commit records that the run resumes after a restart.
            let world = world.restart(Faults::default().plan(5, Fault::DieBefore)).await;
            let question = world.question(root.id).await;
            assert_eq!(question.about, About::Doubt, "{later:?} {front}");
            world.client().answer(question.id, Answer::Retry).await.unwrap();
            death_of(world.faults()).await;
            let world = world.restart(Faults::default()).await;
            let question = world.question(root.id).await;
            assert_eq!(question.about, About::Doubt, "{later:?} {front}: cut off again");
            world.client().answer(question.id, Answer::GiveUp).await.unwrap();
            lines(&world, &root).await;
            assert_eq!(happened.per_call(), [2], "once, and once more as a person said");
        }
    }
}

/// A call that waits for approval while its tool changes was never begun, and its output must not
/// claim otherwise.
#[tokio::test]
async fn an_approved_call_that_no_longer_fits_its_tool_is_refused_as_not_made() {
    let happened = Effects::default();
    let (tool, has_changed) = ChangingTool::new(&happened, Effect::Unsafe, "iban");
    let model = ScriptedModel::new([Script::call("pay", json!({"n": 1})), Script::text("So.")]);
    let kinds = entourage_engine::Kinds::none().with(kind_of("approval: [{ tools: pay }]"));
    let world = World::builder(model).tools(Toolbox::new().with(tool)).kinds(kinds).start().await;
    let root = world.ask("Pay.").await;
    let question = world.question(root.id).await;
    has_changed.store(true, Ordering::SeqCst);
    let world = world.restart(Faults::default()).await;
    let leave = Answer::Approve { always: false, arguments: None, digest: None };
    world.client().answer(question.id, leave).await.unwrap();
    let line = lines(&world, &root).await[2].clone();
    assert!(line.starts_with("output!: ") && line.contains("iban"), "{line}");
    assert!(!line.contains("may have taken effect"), "{line}");
    assert!(happened.per_call().is_empty());
}

/// If work ends before a person's accepted answer is read, the output says so and does not claim
/// that none arrived.
#[tokio::test]
async fn an_answer_unread_when_the_work_is_stopped_is_reported_as_too_late() {
    let model = ScriptedModel::new([Script::call("pay", json!({"n": 1})), Script::text("So.")]);
    let happened = Effects::default();
    let tools = Toolbox::new().with(TestTool::new("pay", Effect::Unsafe, &happened));
    let kinds = entourage_engine::Kinds::none().with(kind_of("approval: [{ tools: pay }]"));
    let world = World::builder(model).tools(tools).kinds(kinds).start().await;
    let root = world.ask("Pay.").await;
    let question = world.question(root.id).await;
    // While it is paused, it reads neither before both have arrived.
    world.client().intervene(root.id, Action::Pause, None).await.unwrap();
    let leave = Answer::Approve { always: false, arguments: None, digest: None };
    world.client().answer(question.id, leave).await.unwrap();
    world.client().intervene(root.id, Action::Stop, None).await.unwrap();
    world.ended(root.id).await;
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    let line = &plain(&items)[2];
    assert!(line.starts_with("output!: answered too late: the work was stopped"), "{line}");
    assert!(happened.per_call().is_empty());
    assert_eq!(world.audit().await, []);
}
