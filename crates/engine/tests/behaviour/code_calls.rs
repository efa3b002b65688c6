//! Calls that the code of a call makes.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_llm::{Error as ModelError, Message, Script, ScriptedModel};
use entourage_testkit::{World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::{Action, Agent, Answer, ApprovalRule, Kind, Status, ToolSpec, Verdict, WaitingOn};
use serde_json::{Value, json};

use crate::kit::{
    Code, CodeTool, Effects, TestTool, Waits, WorldExt, bare, eventually, first_tools, one_kind,
};

pub(crate) type Body = fn(&mut Code) -> Result<String, Waits>;

/// A world of one kind, whose model runs the code at `Go.`; agents that read something else do that, ask or fail.
pub(crate) async fn world(code: Body, change: impl FnOnce(&mut Kind)) -> World {
    with_tools(code, first_tools(), change).await
}

/// The same with these tools.
pub(crate) async fn with_tools(code: Body, tools: Toolbox, change: impl FnOnce(&mut Kind)) -> World {
    let tools = tools.with(CodeTool::new(move |run, _| code(run)));
    World::builder(mind()).tools(tools).kinds(one_kind(change)).start().await
}

/// The model of these worlds.
pub(crate) fn mind() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "fail" => {
                let (model, cause) = ("a model".to_owned(), "it will not".to_owned());
                return Some(Err(ModelError::Refused { model, cause }));
            }
            Some(Message::User(text)) if text == "Go." => Script::call("code", json!({})),
            Some(Message::User(text)) if text.starts_with("ask") => {
                Script::call("ask_user", json!({ "question": "Which?" }))
            }
            Some(Message::User(text)) => Script::text(format!("did {text}")),
            Some(Message::Output { text, .. }) => Script::text(format!("({text})")),
            other => Script::text(format!("unexpected {other:?}")),
        }))
    })
}

/// What the code's call returned to the model, and the whole transcript.
pub(crate) async fn run(world: &World) -> (String, Vec<String>) {
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    let lines = plain(&world.client().items(root.id, 0, 1_000).await.unwrap());
    let output = lines.iter().find(|line| line.starts_with("output")).cloned().unwrap_or_default();
    assert_eq!(world.audit().await, []);
    assert_eq!(world.inconsistencies().await, Vec::<String>::new());
    (output, lines)
}

/// Shows: S3-R065, S3-R066, S3-R068, S3-R070.
#[tokio::test]
async fn agents_of_code_are_children_and_their_results_come_back_in_the_order_of_the_waits() {
    let code: Body = |code| {
        let (a, b) = (code.fork("A"), code.fork("B"));
        let (b, a) = (code.wait(b)?, code.wait(a)?);
        Ok(format!("{} {}", b.text, a.text))
    };
    let world = world(code, |_| {}).await;
    let (output, lines) = run(&world).await;
    assert_eq!(output, "output: did B did A");
    assert_eq!(lines[2], r#"code: [fork{"prompt":"A"} fork{"prompt":"B"}]"#);
    let root =
        world.client().agents(None, Default::default()).await.unwrap().into_iter().find(|a| a.depth == 0);
    let tree = world.client().tree(root.unwrap().id).await.unwrap();
    let below: Vec<_> = tree[1..].iter().map(|agent| (agent.parent, &*agent.kind, agent.status)).collect();
    assert_eq!(below, vec![(Some(tree[0].id), "assistant", Status::Succeeded); 2]);
}

/// No model reads the calls of code, nor their outputs.
#[tokio::test]
async fn a_model_reads_what_the_code_returned_and_nothing_of_its_calls() {
    let code: Body = |code| code.ask("Which?").map(|answer| format!("told {}", answer.text));
    let world = world(code, |_| {}).await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    let waits = async || world.client().agent(root.id).await.unwrap().waiting_on;
    eventually("it waits for the user", waits, |on| *on == Some(WaitingOn::User)).await;
    world.client().answer(question.id, Answer::Text("blue".into())).await.unwrap();
    world.ended(root.id).await;
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert_eq!(
        lines[1..],
        [
            r#"turn: [code{}]"#,
            r#"code: [ask_user{"question":"Which?"}]"#,
            "to code: blue",
            "output: told blue",
            "turn: (told blue)[]",
        ],
    );
}

#[tokio::test]
async fn code_reads_that_a_question_was_declined_and_that_a_fork_was_refused() {
    let code: Body = |code| {
        let asked = code.ask("Which?")?;
        let wrong = code.call("fork", json!({ "prompt": "A", "kind": "nobody" }));
        let wrong = code.wait(wrong)?;
        Ok(format!("{:?} {} {}", asked.effect.is_some(), wrong.error, wrong.text))
    };
    let world = world(code, |_| {}).await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.client().answer(question.id, Answer::Declined).await.unwrap();
    world.ended(root.id).await;
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    let output = lines.iter().find(|line| line.starts_with("output")).unwrap();
    assert!(output.starts_with("output: true true the arguments of `fork` are not valid"), "{output}");
}

#[tokio::test]
async fn code_calls_the_tools_of_its_kind_under_their_approval_rules() {
    let effects = Effects::default();
    let tools = first_tools().with(TestTool::new("pay", Effect::Unsafe, &effects)).with(TestTool::new(
        "hidden",
        Effect::Pure,
        &effects,
    ));
    let code: Body = |code| {
        let hidden = code.call("hidden", json!({}));
        let hidden = code.wait(hidden)?.text;
        let own = code.call("code", json!({}));
        let own = code.wait(own)?.text;
        let ends = code.call("final_answer", json!({ "answer": "x" }));
        let ends = code.wait(ends)?.text;
        let paid = code.call("pay", json!({ "n": 5 }));
        Ok([hidden, own, ends, code.wait(paid)?.text].join("\n"))
    };
    let world = with_tools(code, tools, |kind| {
        kind.tools = Some(["code", "pay", "final_answer"].map(str::to_owned).to_vec());
        kind.approval = vec![ApprovalRule::of("pay")];
    })
    .await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    assert_eq!(effects.per_call(), [0; 0], "nothing is paid before a person approves it");
    assert_eq!(question.proposal.as_ref().unwrap().arguments, json!({ "n": 5 }));
    world.client().answer(question.id, Verdict::Approve.into()).await.unwrap();
    world.ended(root.id).await;
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    let output = lines.iter().find(|line| line.starts_with("output")).unwrap();
    let said: Vec<&str> = output.lines().collect();
    assert!(said[0].contains("there is no tool `hidden`"), "{output}");
    assert!(said[1].contains("code cannot call `code`, which runs code itself"), "{output}");
    assert!(said[2].contains("code cannot call `final_answer`, which ends the work"), "{output}");
    assert_eq!(said[3], "pay: {\"n\":5}");
    assert_eq!(effects.per_call(), [1]);
    assert_eq!(world.audit().await, []);
}

/// What code leaves ends with it: an agent is deleted, a question withdrawn.
///
/// Shows: S3-R092.
#[tokio::test]
async fn what_code_does_not_wait_for_ends_with_it() {
    let code: Body = |code| {
        code.fork("ask someone");
        code.call("ask_user", json!({ "question": "Why?" }));
        let quick = code.fork("A");
        code.wait(quick).map(|output| output.text)
    };
    let world = world(code, |_| {}).await;
    let (output, lines) = run(&world).await;
    assert_eq!(output, "output: did A");
    let all = async || world.client().agents(None, Default::default()).await.unwrap();
    let is_deleted =
        |agents: &Vec<Agent>| agents.iter().filter(|agent| agent.status == Status::Cancelled).count() == 1;
    let agents = eventually("the agent is deleted, not stopped", all, is_deleted).await;
    assert_eq!(agents.iter().filter(|agent| agent.status == Status::Succeeded).count(), 2, "{agents:?}");
    let left = lines.iter().filter(|line| line.contains("the code ended without waiting for it")).count();
    assert_eq!(left, 2, "{lines:#?}");
    let open = async || world.client().questions(None, None, Default::default()).await.unwrap();
    eventually("no question is open", open, |all| {
        all.iter().all(|question| question.status != entourage_types::QuestionStatus::Open)
    })
    .await;
}

/// A stop stops its agents; a deletion and a new instruction delete them.
#[tokio::test]
async fn a_stop_a_deletion_and_a_new_instruction_end_code_and_the_agents_that_it_started() {
    let code: Body = |code| {
        let child = code.fork("ask someone");
        code.wait(child).map(|output| output.text)
    };
    use Status::{Cancelled, Failed, Succeeded};
    for (action, text, statuses) in [
        (Action::Stop, None, [Failed, Failed]),
        (Action::Delete, None, [Cancelled, Cancelled]),
        (Action::Modify, Some("something else"), [Succeeded, Cancelled]),
    ] {
        let world = world(code, |_| {}).await;
        let root = world.ask("Go.").await;
        world.question(root.id).await;
        world.client().intervene(root.id, action, text).await.unwrap();
        let all = async || {
            let tree = world.client().tree(root.id).await.unwrap();
            tree.iter().map(|agent| agent.status).collect::<Vec<_>>()
        };
        eventually("all has ended", all, |now| *now == statuses).await;
        let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
        let closed = lines.iter().filter(|line| line.starts_with("to code!") || line.starts_with("output!"));
        assert_eq!(closed.count(), 2, "{action:?}: {lines:#?}");
        assert_eq!(world.audit().await, [], "{action:?}");
    }
}

#[tokio::test]
async fn code_that_makes_too_many_calls_or_waits_for_none_ends_with_an_error() {
    let too_many: Body = |code| {
        for n in 0..1_001 {
            code.call("emit", json!({ "text": n.to_string() }));
        }
        code.wait(1_000).map(|output| output.text)
    };
    let nothing: Body = |_| Err(Waits(vec![]));
    let unknown: Body = |_| Err(Waits(vec![vec![3]]));
    let again: Body = |code| {
        code.call("emit", json!({ "text": "x" }));
        Err(Waits(vec![vec![0]]))
    };
    let others: Body = |code| {
        let known = code.fork("A");
        let first = code.wait(known)?;
        if first.text == "did A" { Ok("well".into()) } else { Ok(String::new()) }
    };
    let everything: Body = |code| {
        let all: Vec<usize> = (0..150).map(|_| code.call("emit", json!({ "text": "x" }))).collect();
        Err(Waits(
            (0..150)
                .flat_map(|from| (from + 1..=150).map(move |to| (from, to)))
                .map(|(from, to)| all[from..to].to_vec())
                .collect(),
        ))
    };
    for (code, says) in [
        (everything, "waits for too much at once"),
        (too_many, "more than 1000 calls"),
        (nothing, "waits for no call"),
        (unknown, "waits for no call"),
        (again, "waits for no call"),
        (others, "well"),
    ] {
        let world = world(code, |_| {}).await;
        let (output, _) = run(&world).await;
        assert!(output.contains(says), "{output}");
    }
}

#[tokio::test]
async fn what_code_reports_is_a_notice_for_those_who_watch() {
    let code: Body = |code| {
        let told = code.call("emit", json!({ "text": "halfway" }));
        code.wait(told)?;
        Ok("done".into())
    };
    let world = world(code, |_| {}).await;
    let (_, lines) = run(&world).await;
    assert!(lines.iter().any(|line| line == "notice progress: halfway"), "{lines:#?}");
}

/// A tool that never returns.
struct Endless(Arc<AtomicUsize>);

#[async_trait]
impl Tool for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("endless", "Never returns.", json!({ "type": "object" })))
    }

    fn effect(&self) -> Effect {
        Effect::Idempotent
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }
}

#[tokio::test]
async fn calls_in_progress_end_with_their_code_and_those_that_wait_for_a_place_never_begin() {
    let begun = Arc::new(AtomicUsize::new(0));
    let code: Body = |code| {
        let quick = code.call("emit", json!({ "text": "first" }));
        for _ in 0..40 {
            code.call("endless", json!({}));
        }
        code.wait(quick).map(|_| "enough".to_owned())
    };
    let world = with_tools(code, first_tools().with(Endless(Arc::clone(&begun))), |_| {}).await;
    let (output, lines) = run(&world).await;
    assert_eq!(output, "output: enough");
    let ended = |how: &str| lines.iter().filter(|line| line.ends_with(how)).count();
    let of_begun = ended("without waiting for it; it may have taken effect");
    assert!((1..=16).contains(&of_begun), "the intents of those that could begin: {lines:#?}");
    assert_eq!(of_begun + ended("without waiting for it"), 40, "each has one output: {lines:#?}");
    assert!(begun.load(Ordering::SeqCst) <= of_begun, "{begun:?}");
}

#[tokio::test]
async fn an_agent_that_existed_before_the_code_keeps_its_memory_when_the_code_leaves_it() {
    let code: Body = |code| {
        code.call("send_message", json!({ "recipient": "writer", "message": "ask again" }));
        let quick = code.fork("A");
        code.wait(quick).map(|output| output.text)
    };
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "Meet." => {
                Script::call("send_message", json!({ "recipient": "writer", "message": "hello" }))
            }
            Some(Message::User(text)) if text == "Go." => Script::call("code", json!({})),
            Some(Message::User(text)) if text.starts_with("ask") => {
                Script::call("ask_user", json!({ "question": "Which?" }))
            }
            Some(Message::User(text)) => Script::text(format!("did {text}")),
            Some(Message::Output { text, .. }) => Script::text(text.clone()),
            other => Script::text(format!("unexpected {other:?}")),
        }))
    });
    let tools = first_tools().with(CodeTool::new(move |run, _| code(run)));
    let kinds = one_kind(|kind| kind.peers = vec!["writer".to_owned()]).with(bare("writer"));
    let world = World::builder(model).tools(tools).kinds(kinds).start().await;
    let root = world.ask("Meet.").await;
    world.ended(root.id).await;
    world.client().send(root.id, "Go.", None).await.unwrap();
    let tree = async || world.client().tree(root.id).await.unwrap();
    eventually("the code has ended", tree, |tree| {
        tree.len() == 3 && tree[0].status == Status::Succeeded && tree[1].status == Status::Failed
    })
    .await;
    assert_eq!(tree().await[1].kind, "writer", "it was stopped and not deleted");
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_fork_that_an_approval_rule_holds_back_is_made_once_a_person_approves_it() {
    let code: Body = |code| {
        let held = code.fork("A");
        code.wait(held).map(|output| output.text)
    };
    let world = world(code, |kind| {
        kind.approval = vec![ApprovalRule::of("fork")];
    })
    .await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 1);
    world.client().answer(question.id, Verdict::Approve.into()).await.unwrap();
    world.ended(root.id).await;
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert!(lines.contains(&"output: did A".to_owned()), "{lines:#?}");
}
