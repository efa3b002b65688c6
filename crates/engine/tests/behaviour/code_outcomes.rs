//! What code reads of calls that were not made, or came to nothing.

use std::time::Duration;

use async_trait::async_trait;
use entourage_engine::{Cause, Why};
use entourage_llm::{Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::{
    About, Action, Agent, Answer, ApprovalRule, QuestionStatus, ResultSource, Status, ToolSpec, Verdict,
};
use serde_json::{Value, json};

use crate::{
    code_calls::{Body, with_tools, world},
    kit::{
        Code, CodeTool, Effects, TestTool, WorldBuilderExt, WorldExt, death_of, eventually, first_tools,
        one_kind,
    },
};

/// What the code returned to the model, once the run has ended.
async fn output(world: &World, root: &Agent) -> String {
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(world.audit().await, []);
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    lines.into_iter().find(|line| line.starts_with("output")).unwrap()
}

/// What a call of code returned, as the code says it.
fn said(output: &entourage_types::Output) -> String {
    format!("{}{}", if output.error { "failed: " } else { "" }, output.text)
}

#[tokio::test]
async fn code_reads_that_an_agent_failed_or_was_deleted() {
    let code: Body = |code| {
        let forked = [code.fork("fail"), code.fork("ask someone"), code.fork("A")];
        let all = forked.map(|number| code.wait(number));
        let [failed, deleted, did] = all;
        Ok([failed?, deleted?, did?].map(|output| said(&output)).join("\n"))
    };
    let world = world(code, |_| {}).await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.client().intervene(question.agent, Action::Delete, None).await.unwrap();
    let output = output(&world, &root).await;
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].starts_with("output: failed: ") && lines[0].contains("refused the request"), "{output}");
    assert!(lines[1].starts_with("failed: ") && lines[1].contains("deleted by the user"), "{output}");
    assert_eq!(lines[2..], ["did A"]);
    let tree = world.client().tree(root.id).await.unwrap();
    let mut statuses: Vec<Status> = tree[1..].iter().map(|agent| agent.status).collect();
    statuses.sort_by_key(|status| status.to_string());
    assert_eq!(statuses, [Status::Cancelled, Status::Failed, Status::Succeeded]);
}

/// The arguments that a person gave are those that the call is made with.
#[tokio::test]
async fn each_answer_to_an_approval_decides_the_call_of_code_and_what_the_code_reads() {
    let code: Body = |code| {
        let paid = code.call("pay", json!({ "n": 7 }));
        code.wait(paid).map(|output| said(&output))
    };
    let edited = Answer::Approve { arguments: Some(json!({ "n": 3 })), always: false, digest: None };
    let reason = Answer::Reject { reason: Some("too dear".into()) };
    for (given, times, read) in [
        (Some(Verdict::Approve.into()), 1, "pay: {\"n\":7}"),
        (Some(edited), 1, "The user changed the arguments of `pay` to {\"n\":3}.\npay: {\"n\":3}"),
        (Some(reason), 0, "failed: The user rejected the call, so it was not made: too dear"),
        (
            Some(Answer::Declined),
            0,
            "failed: The user rejected the call, so it was not made. Continue without it.",
        ),
        (
            Some(Answer::Text("use cash".into())),
            0,
            "failed: The call was not made. The user answers instead: use cash",
        ),
        (None, 0, "failed: The call was not approved in time, so it was not made. Continue without it."),
    ] {
        let effects = Effects::default();
        let tools = first_tools().with(TestTool::new("pay", Effect::Unsafe, &effects));
        let world = with_tools(code, tools, |kind| {
            kind.approval = vec![ApprovalRule { answer_seconds: Some(60), ..ApprovalRule::of("pay") }];
        })
        .await;
        let root = world.ask("Go.").await;
        let question = world.question(root.id).await;
        world.asleep(&root).await;
        assert_eq!(effects.per_call(), [0; 0]);
        // What was asked is on record, and so is which code waits for it.
        let world = world.restart(Faults::default()).await;
        match given {
            Some(answer) => drop(world.client().answer(question.id, answer).await.unwrap()),
            None => world.clock().advance(Duration::from_secs(60)),
        }
        assert_eq!(output(&world, &root).await, format!("output: {read}"));
        assert_eq!(effects.per_call(), vec![1; times], "{read}");
    }
}

/// What a person says that an interrupted call returned is what it returned: code that took it for a failure would pay
/// again.
#[tokio::test]
async fn code_reads_what_a_person_says_that_an_interrupted_call_returned() {
    let effects = Effects::default();
    let pay = TestTool::new("pay", Effect::Unsafe, &effects);
    let code = CodeTool::new(|code: &mut Code, _: &Value| {
        let paid = code.call("pay", json!({ "n": 1 }));
        code.wait(paid).map(|output| said(&output))
    });
    let model = ScriptedModel::new([Script::call("code", json!({})), Script::text("Done.")]);
    let tools = first_tools().with(code).with(pay);
    let builder = World::builder(model).tools(tools).kinds(one_kind(|_| {}));
    // It dies once the effect has happened, before its output is committed.
    let world = builder.start_with(3, Fault::DieBefore).await;
    let root = world.ask("Go.").await;
    death_of(world.faults()).await;
    assert_eq!(effects.per_call(), [1]);
    let world = world.restart(Faults::default()).await;
    let question = world.question(root.id).await;
    assert_eq!(question.about, About::Doubt);
    world.client().answer(question.id, Answer::Text("receipt 17".into())).await.unwrap();
    assert_eq!(output(&world, &root).await, "output: receipt 17");
    assert_eq!(effects.per_call(), [1]);
}

#[tokio::test]
async fn code_goes_on_without_an_answer_that_does_not_come_in_time() {
    let code: Body = |code| code.ask("Which?").map(|answer| said(&answer));
    let world = world(code, |kind| kind.limits.answer_seconds = Some(60)).await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    world.clock().advance(Duration::from_secs(59));
    assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Waiting);
    world.clock().advance(Duration::from_secs(1));
    let read = output(&world, &root).await;
    assert!(read.starts_with("output: There was no answer in time."), "{read}");
    let question = world.client().question(question.id).await.unwrap();
    assert_eq!(question.status, QuestionStatus::Expired);
}

/// A public tool that finds an address, or repeats what it was asked.
struct LookUp;

#[async_trait]
impl Tool for LookUp {
    fn name(&self) -> &str {
        "look_up"
    }

    fn source(&self) -> ResultSource {
        ResultSource::Public
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("look_up", "Looks up.", json!({ "type": "object" })))
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome, Error> {
        let about = arguments["words"].as_str().unwrap_or_default();
        Ok(Outcome::text(format!("See {FOUND}; nothing about {about}.")))
    }
}

/// An address that a page gives, and one that only the code writes. The tool refuses both: they are of this machine.
const FOUND: &str = "http://127.0.0.1:9/found";
const INVENTED: &str = "http://127.0.0.1:9/take?q=s3cret";

fn tools() -> Toolbox {
    let balance =
        TestTool::answering("balance", Effect::Pure, &Effects::default(), |_, _| Ok(Outcome::text("s3cret")));
    first_tools().with(balance).with(LookUp)
}

/// What code fetches counts as what a model fetches, and what its calls returned as what a model has read.
#[tokio::test]
async fn an_address_that_only_code_chose_needs_approval_once_private_data_was_read() {
    let invents: Body = |code| {
        let balance = code.call("balance", json!({}));
        code.wait(balance)?;
        let fetched = code.call("fetch_url", json!({ "url": INVENTED }));
        code.wait(fetched).map(|output| said(&output))
    };
    // What a tool repeats of its call does not give an address.
    let has_it_repeated: Body = |code| {
        let calls = [code.call("balance", json!({})), code.call("look_up", json!({ "words": INVENTED }))];
        for call in calls {
            code.wait(call)?;
        }
        let fetched = code.call("fetch_url", json!({ "url": INVENTED }));
        code.wait(fetched).map(|output| said(&output))
    };
    for code in [invents, has_it_repeated] {
        let world = with_tools(code, tools(), |_| {}).await;
        let root = world.ask("Go.").await;
        let question = world.question(root.id).await;
        let proposal = question.proposal.as_deref().unwrap();
        assert_eq!((question.about, &*proposal.tool), (About::Approval, "fetch_url"));
        assert_eq!(proposal.arguments, json!({ "url": INVENTED }));
        world.client().answer(question.id, Verdict::Reject.into()).await.unwrap();
        let read = output(&world, &root).await;
        assert!(read.starts_with("output: failed: The user rejected the call"), "{read}");
    }
}

#[tokio::test]
async fn an_address_that_a_tool_gave_code_and_one_without_private_data_need_no_approval() {
    let finds: Body = |code| {
        let calls = [code.call("balance", json!({})), code.call("look_up", json!({}))];
        for call in calls {
            code.wait(call)?;
        }
        let fetched = code.call("fetch_url", json!({ "url": FOUND }));
        code.wait(fetched).map(|output| said(&output))
    };
    let reads_nothing: Body = |code| {
        let fetched = code.call("fetch_url", json!({ "url": INVENTED }));
        code.wait(fetched).map(|output| said(&output))
    };
    for code in [finds, reads_nothing] {
        let world = with_tools(code, tools(), |_| {}).await;
        let root = world.ask("Go.").await;
        let read = output(&world, &root).await;
        assert!(read.starts_with("output: failed: ") && !read.contains("user"), "{read}");
        assert_eq!(world.client().questions(None, None, Page::default()).await.unwrap(), []);
    }
}

/// Each link of the chain is one that a person can do something about.
#[tokio::test]
async fn who_asks_why_code_waits_is_told_of_its_agent_and_of_what_that_waits_for() {
    let code: Body = |code| {
        let child = code.fork("ask someone");
        code.wait(child).map(|output| output.text)
    };
    let world = world(code, |_| {}).await;
    let root = world.ask("Go.").await;
    let asked = world.question(root.id).await;
    world.asleep(&root).await;
    let why = async || world.client().why(root.id).await.unwrap();
    let asks = |why: &Why| matches!(why.cause(), Cause::Question { question, .. } if *question == asked.id);
    let why = eventually("both wait", why, asks).await;
    let chain = why.chain();
    let task = world.client().tasks(Some(root.id), None, Page::default()).await.unwrap().remove(0);
    assert_eq!((chain[0].agent, &chain[0].cause), (root.id, &Cause::Task { task: task.id }));
    assert_eq!((chain.len(), chain[1].agent), (2, asked.agent));
}
