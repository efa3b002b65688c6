//! What arrives for code is heard beside a call of it that does not end.

use std::time::Duration;

use async_trait::async_trait;
use entourage_llm::ScriptedModel;
use entourage_store::Page;
use entourage_testkit::{World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool};
use entourage_types::{
    Action, AgentId, Answer, ApprovalRule, Kind, Owner, QuestionStatus, Scope, Status, Step, ToolSpec,
    Verdict, Wait,
};
use serde_json::{Value, json};

use crate::{
    code_listens::decide,
    kit::{Code, CodeTool, Effects, TestTool, eventually, first_tools, one_kind},
};

/// A call that never ends.
struct Hangs;

#[async_trait]
impl Tool for Hangs {
    fn name(&self) -> &str {
        "hang"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("hang", "Never returns.", json!({ "type": "object" })))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_answer_reaches_code_beside_a_call_that_does_not_end() {
    let code = CodeTool::new(|code: &mut Code, _: &Value| {
        let asked = code.call("ask_user", json!({ "question": "How long?" }));
        let hangs = code.call("hang", json!({}));
        code.first(&[asked, hangs]).map(|(_, output)| output.text)
    });
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let tools = first_tools().with(code).with(Hangs);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await.id;
    let asked = world.question(root).await;
    // The activation that makes the calls goes on meanwhile.
    let client = world.engine().client(Owner::local());
    client.answer(asked.id, Answer::Text("enough".into())).await.unwrap();
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    let lines = plain(&client.items(root, 0, 1_000).await.unwrap());
    assert!(lines.iter().any(|line| line == "output: enough"), "{lines:#?}");
    assert_eq!(world.audit().await, []);
}

/// A world whose code makes these calls beside one that does not end, and returns what comes first of them.
async fn beside_one_that_hangs(
    tool: &'static str,
    arguments: Value,
    effects: &Effects,
    change: impl FnOnce(&mut Kind),
) -> (World, AgentId) {
    let code = CodeTool::new(move |code: &mut Code, _: &Value| {
        let all = [code.call("hang", json!({})), code.call(tool, arguments.clone())];
        code.first(&all).map(|(_, output)| output.text)
    });
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let pay = TestTool::new("pay", Effect::Unsafe, effects);
    let kinds = one_kind(|kind| {
        kind.approval = vec![ApprovalRule::of("pay")];
        change(kind);
    });
    let tools = first_tools().with(code).with(Hangs).with(pay);
    let world = World::builder(model).tools(tools).kinds(kinds).start().await;
    let root = world.ask("Go.").await.id;
    (world, root)
}

pub(crate) async fn output(world: &World, root: AgentId) -> String {
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    assert_eq!(world.audit().await, []);
    let lines = plain(&world.client().items(root, 0, 1_000).await.unwrap());
    lines.into_iter().find(|line| line.starts_with("output")).unwrap()
}

#[tokio::test]
async fn a_call_that_is_approved_begins_beside_one_that_does_not_end() {
    let effects = Effects::default();
    let (world, root) = beside_one_that_hangs("pay", json!({ "n": 1 }), &effects, |_| {}).await;
    let asked = world.question(root).await;
    assert_eq!(effects.per_call(), [0; 0]);
    world.client().answer(asked.id, Verdict::Approve.into()).await.unwrap();
    assert_eq!(output(&world, root).await, "output: pay: {\"n\":1}");
    assert_eq!(effects.per_call(), [1]);
}

/// An approval and a pause that come together: the call begins when the agent is resumed, and once.
#[tokio::test]
async fn a_call_that_is_approved_during_a_pause_begins_after_it() {
    let effects = Effects::default();
    let (world, root) = beside_one_that_hangs("pay", json!({ "n": 1 }), &effects, |_| {}).await;
    let (asked, client) = (world.question(root).await, world.client());
    client.intervene(root, Action::Pause, None).await.unwrap();
    client.answer(asked.id, Verdict::Approve.into()).await.unwrap();
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(effects.per_call(), [0; 0]);
    client.intervene(root, Action::Resume, None).await.unwrap();
    assert_eq!(output(&world, root).await, "output: pay: {\"n\":1}");
    assert_eq!(effects.per_call(), [1]);
}

/// As many calls that do not end as run at once, and one that a person must approve.
#[tokio::test]
async fn an_approval_is_asked_for_though_no_more_calls_can_begin() {
    let code = CodeTool::new(|code: &mut Code, _: &Value| {
        for _ in 0..40 {
            code.call("hang", json!({}));
        }
        let asked = code.call("pay", json!({ "n": 1 }));
        code.wait(asked).map(|output| output.text)
    });
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let effects = Effects::default();
    let pay = TestTool::new("pay", Effect::Unsafe, &effects);
    let kinds = one_kind(|kind| kind.approval = vec![ApprovalRule::of("pay")]);
    let world = World::builder(model)
        .tools(first_tools().with(code).with(Hangs).with(pay))
        .kinds(kinds)
        .start()
        .await;
    let root = world.ask("Go.").await.id;
    let asked = world.question(root).await;
    world.client().answer(asked.id, Answer::Reject { reason: None }).await.unwrap();
    let said = output(&world, root).await;
    assert!(said.starts_with("output: The user rejected the call"), "{said}");
    assert_eq!(effects.per_call(), [0; 0]);
}

#[tokio::test]
async fn a_wait_of_code_ends_at_its_time_beside_a_call_that_does_not_end() {
    let (world, root) =
        beside_one_that_hangs("wait", json!({ "seconds": 60 }), &Effects::default(), |_| {}).await;
    let steps = async || match world.client().runs(root, Page::default()).await.unwrap().first() {
        Some(run) => world.store().steps(&Scope::All, run.id).await.unwrap(),
        None => Vec::new(),
    };
    let waits = |steps: &Vec<Step>| steps.iter().any(|step| matches!(step.wait(), Some(Wait::Until { .. })));
    eventually("it waits", steps, waits).await;
    world.clock().advance(Duration::from_secs(60));
    assert_eq!(output(&world, root).await, "output: The time has passed.");
}

/// A question that is not answered in time is closed beside a call that does not end.
#[tokio::test]
async fn a_question_of_code_expires_beside_a_call_that_does_not_end() {
    let limits = |kind: &mut Kind| kind.limits.answer_seconds = Some(60);
    let arguments = json!({ "question": "Which?" });
    let (world, root) = beside_one_that_hangs("ask_user", arguments, &Effects::default(), limits).await;
    world.question(root).await;
    world.clock().advance(Duration::from_secs(60));
    let said = output(&world, root).await;
    assert!(said.starts_with("output: There was no answer in time"), "{said}");
}

/// Some of the questions may just be asked when a person approves this call and all like it.
#[tokio::test]
async fn a_grant_covers_all_calls_that_code_has_made_at_once_beside_a_call_that_does_not_end() {
    const CALLS: usize = 30;
    let code = CodeTool::new(|code: &mut Code, _: &Value| {
        code.call("hang", json!({}));
        let paid: Vec<usize> = (0..CALLS).map(|n| code.call("pay", json!({ "n": n }))).collect();
        paid.into_iter().try_for_each(|call| code.wait(call).map(drop))?;
        Ok("all paid".to_owned())
    });
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let effects = Effects::default();
    let tools = first_tools().with(code).with(Hangs).with(TestTool::new("pay", Effect::Unsafe, &effects));
    let kinds = one_kind(|kind| kind.approval = vec![ApprovalRule::of("pay")]);
    let world = World::builder(model).tools(tools).kinds(kinds).start().await;
    let root = world.ask("Go.").await.id;
    let asked = world.question(root).await;
    let always = Answer::Approve { arguments: None, always: true, digest: None };
    world.client().answer(asked.id, always).await.unwrap();
    assert_eq!(output(&world, root).await, "output: all paid");
    assert_eq!(effects.per_call(), [1; CALLS]);
}

/// Neither waits for the end of the call.
#[tokio::test]
async fn a_stop_and_a_new_instruction_end_code_beside_a_call_that_does_not_end() {
    for action in [Action::Stop, Action::Modify] {
        let (world, root) =
            beside_one_that_hangs("ask_user", json!({ "question": "?" }), &Effects::default(), |_| {}).await;
        world.question(root).await;
        let text = (action == Action::Modify).then_some("Say hello.");
        world.engine().client(Owner::local()).intervene(root, action, text).await.unwrap();
        let lines = async || plain(&world.client().items(root, 0, 1_000).await.unwrap());
        let has_ended =
            |lines: &Vec<String>| lines.iter().any(|line| line.starts_with("output!: not answered"));
        eventually("its call has an output", lines, has_ended).await;
        let questions = world.client().questions(Some(root), None, Page::all()).await.unwrap();
        assert_eq!(questions[0].status, QuestionStatus::Expired, "{action:?}");
    }
}
