//! What code starts runs at the same time, within the limits of its tree, and beside the work of other owners.

use entourage_engine::NewAgent;
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{HeldModel, World, plain};
use entourage_types::{Agent, Owner, Status, StopReason};
use serde_json::json;

use crate::{
    code_calls::{Body, mind, world},
    kit::{CodeTool, at_once, eventually, first_tools, one_kind},
};

/// The transcript of each agent of a tree, the root's first.
async fn transcripts(world: &World, root: &Agent) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for agent in world.client().tree(root.id).await.unwrap() {
        all.push(plain(&world.client().items(agent.id, 0, 1_000).await.unwrap()));
    }
    all
}

/// Each is asked before the other has answered.
///
/// Shows: S3-R068.
#[tokio::test]
async fn two_agents_of_code_ask_their_models_at_the_same_time() {
    let code: Body = |code| {
        let forked = [code.fork("A"), code.fork("B")];
        Ok(format!("{} {}", code.wait(forked[0])?.text, code.wait(forked[1])?.text))
    };
    let model = HeldModel::new(mind());
    let tools = first_tools().with(CodeTool::new(move |run, _| code(run)));
    let world = World::builder(model.clone()).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    model.let_go(1);
    for _ in 0..2 {
        model.begun().await;
    }
    let tree = world.client().tree(root.id).await.unwrap();
    let at_work: Vec<Status> = tree[1..].iter().map(|agent| agent.status).collect();
    assert_eq!(at_work, [Status::Running; 2], "neither has its answer");
    model.let_go(2 + 1);
    world.ended(root.id).await;
    assert_eq!(transcripts(&world, &root).await[0].last().unwrap(), "turn: (did A did B)[]");
}

/// How many agents code has started, and what the forks said that started none.
async fn started(world: &World, root: &Agent) -> (usize, Vec<String>) {
    let all = transcripts(world, root).await;
    let forks = all
        .iter()
        .flatten()
        .filter(|line| line.starts_with("code: "))
        .map(|line| line.matches("fork").count());
    let is_refused =
        |line: &&String| line.starts_with("to code!") && !line.contains("without waiting for it");
    let refused: Vec<String> = all.iter().flatten().filter(is_refused).cloned().collect();
    assert_eq!(forks.sum::<usize>(), all.len() - 1 + refused.len(), "{all:#?}");
    (all.len() - 1, refused)
}

#[tokio::test]
async fn code_starts_as_many_agents_as_may_live_in_its_tree_and_each_further_fork_says_so() {
    let code: Body = |code| {
        let all: Vec<usize> = (0..12).map(|_| code.fork("ask someone")).collect();
        code.wait(all[11]).map(|output| output.text)
    };
    let world = world(code, |kind| kind.limits.max_tree = 8).await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let (agents, refused) = started(&world, &root).await;
    let full = |line: &&String| line.ends_with("has 8 living agents; the limit is 8");
    assert_eq!((agents, refused.iter().filter(full).count()), (7, 5), "{refused:#?}");
    assert_eq!(world.audit().await, []);
}

/// Agents that end at once leave their places to others; but not more are created within an hour than may live.
#[tokio::test]
async fn agents_of_code_count_among_those_of_their_tree_and_depth() {
    let code: Body = |code| {
        let all: Vec<usize> = (0..6).map(|_| code.fork("Go.")).collect();
        all.into_iter().try_for_each(|number| code.wait(number).map(drop)).map(|()| "done".to_owned())
    };
    let says = [
        "living agents; the limit is 8",
        "8 agents were created in this tree within the last hour",
        "you are at the maximum depth of",
    ];
    for (max_tree, max_depth, most) in [(8, 2, 8), (100, 1, 6)] {
        let world = world(code, |kind| {
            kind.limits.max_tree = max_tree;
            kind.limits.max_depth = max_depth;
        })
        .await;
        let root = world.ask("Go.").await;
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        let (agents, refused) = started(&world, &root).await;
        assert!((6..=most).contains(&agents), "{agents}");
        assert!(refused.iter().all(|line| says.iter().any(|says| line.contains(says))), "{refused:#?}");
        let tree = world.client().tree(root.id).await.unwrap();
        assert!(tree.iter().all(|agent| agent.depth <= max_depth), "{tree:?}");
        assert_eq!(world.audit().await, []);
    }
}

/// How many commits there may be before another owner has an answer: those of its own agent, and those of the few
/// agents that have the places when it writes.
const SOON: u64 = 20;

#[tokio::test]
async fn another_owner_is_answered_soon_while_code_has_started_as_many_agents_as_it_may() {
    const MOST: u32 = 60;
    let code: Body = |code| {
        let all: Vec<usize> = (0..=MOST).map(|_| code.fork("A")).collect();
        all.into_iter().try_for_each(|number| code.wait(number).map(drop)).map(|()| "done".to_owned())
    };
    let model = HeldModel::new(mind());
    let tools = first_tools().with(CodeTool::new(move |run, _| code(run)));
    let kinds = one_kind(|kind| kind.limits.max_children = MOST);
    let builder = World::builder(model.clone()).tools(tools).kinds(kinds).store(MemoryStore::default());
    let world = builder.dispatchers(at_once(2)).start().await;
    let root = world.ask("Go.").await;
    model.let_go(1);
    let tree = async || world.client().tree(root.id).await.unwrap();
    let asleep = |tree: &Vec<Agent>| tree.len() > MOST as usize && tree[0].status == Status::Waiting;
    eventually("the code has started all of them, and waits", tree, asleep).await;

    let other = world.engine().client(Owner::new("another"));
    let before = world.faults().commits();
    let new = NewAgent { message: Some("B".into()), ..NewAgent::default() };
    let agent = other.create(new, None).await.unwrap();
    model.let_go(1_000);
    let status = async || other.agent(agent.id).await.unwrap().status;
    eventually("the other owner is answered", status, |status| *status == Status::Succeeded).await;
    let commits = world.faults().commits() - before;
    assert!(commits <= SOON, "{commits}");
    let at_work = tree().await.iter().filter(|agent| !agent.status.is_terminal()).count();
    assert!(at_work > MOST as usize / 2, "{at_work}");

    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let refused =
        transcripts(&world, &root).await[0].iter().filter(|line| line.starts_with("to code!")).count();
    assert_eq!(refused, 1);
    assert_eq!(world.audit().await, []);
}

/// What the code calls in between is no progress.
#[tokio::test]
async fn a_model_that_runs_the_same_code_again_and_again_is_stopped() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "A" => Script::text("did A"),
            Some(Message::Notice(_)) => Script::text("enough"),
            _ => Script::call("code", json!({})),
        }))
    });
    let code: Body = |code| {
        code.call("emit", json!({ "text": "at work" }));
        let forked = code.fork("A");
        code.wait(forked).map(|output| output.text)
    };
    let tools = first_tools().with(CodeTool::new(move |run, _| code(run)));
    let kinds = one_kind(|kind| kind.limits.max_repeats = 3);
    let world = World::builder(model).tools(tools).kinds(kinds).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    assert_eq!(run.stop_reason, Some(StopReason::Stalled));
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 1 + 3);
}
