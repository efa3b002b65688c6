//! Why a request does not begin with the whole request before it: one test for each cause.

use std::{sync::Arc, time::Duration};

use entourage_engine::{Client, NewAgent, PrefixBreak, RequestBefore};
use entourage_llm::{Error as ModelError, Message, Script, ScriptedModel};
use entourage_testkit::World;
use entourage_tools::{Effect, Outcome};
use entourage_types::{Agent, AgentId, ItemBody, Owner, StepKey};

use serde_json::json;

use crate::kit::{Effects, TestTool, first_tools, one_kind};

const MAIN: &str = "compatible::main";
const SPARE: &str = "compatible::spare";

/// What each request of an agent's turns has in common with the one before, in order.
async fn befores(client: &Client, agent: AgentId) -> Vec<Option<RequestBefore>> {
    let mut found = Vec::new();
    for item in client.items(agent, 0, 1_000).await.unwrap() {
        if let (ItemBody::Turn(_), Some(StepKey::Model(number))) = (&item.body, &item.step) {
            let rebuilt = client.request(item.run, *number).await.unwrap();
            assert_eq!(rebuilt.doubt, None, "item {}", item.seq);
            found.push(rebuilt.before);
        }
    }
    found
}

/// Why each request does not begin with the one before, and how many of how many messages it keeps.
async fn broken(world: &World, agent: &Agent) -> Vec<(Option<PrefixBreak>, usize, usize)> {
    let befores = befores(&world.client(), agent.id).await;
    assert_eq!(befores[0], None, "the first request has none before it");
    let told = |before: RequestBefore| (before.broken, before.kept, before.messages);
    befores.into_iter().flatten().map(told).collect()
}

/// Sends a message and waits for the answer.
async fn say(world: &World, agent: &Agent, text: &str) {
    world.engine().client(Owner::local()).send(agent.id, text, None).await.unwrap();
    world.ended(agent.id).await;
}

fn answering() -> ScriptedModel {
    ScriptedModel::deciding(|_| Some(Ok(Script::text("So it is."))))
}

#[tokio::test]
async fn another_model_that_answers_breaks_the_prefix_and_so_does_the_way_back() {
    let model = ScriptedModel::deciding(|request| {
        let is_second = request.messages.len() == 3;
        let pause = Some(Duration::from_secs(60));
        Some(match request.model.as_deref() {
            Some(MAIN) if is_second => {
                Err(ModelError::RateLimited { model: MAIN.into(), retry_after: pause })
            }
            _ => Ok(Script::text("So it is.")),
        })
    });
    let kinds = one_kind(|kind| (kind.model, kind.fallback) = (Some(MAIN.into()), vec![SPARE.into()]));
    let world = World::builder(model.clone()).kinds(kinds).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    for text in ["One.", "Two.", "Three."] {
        say(&world, &root, text).await;
    }
    let asked: Vec<_> = model.requests().into_iter().filter_map(|request| request.model).collect();
    assert_eq!(asked, [MAIN, MAIN, SPARE, MAIN]);
    let other = Some(PrefixBreak::Model);
    assert_eq!(broken(&world, &root).await, [(other, 1, 1), (other, 3, 3)]);
}

#[tokio::test]
async fn another_version_of_the_kind_breaks_the_prefix_once() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    say(&world, &root, "One.").await;
    // What the model reads is the same.
    world.engine().renew(one_kind(|kind| kind.limits.max_steps = 7), Vec::new()).unwrap();
    say(&world, &root, "Two.").await;
    world.engine().renew(one_kind(|kind| kind.instructions = "Do better.".into()), Vec::new()).unwrap();
    say(&world, &root, "Three.").await;
    say(&world, &root, "Four.").await;
    let other = Some(PrefixBreak::Kind);
    assert_eq!(broken(&world, &root).await, [(other, 1, 1), (other, 0, 3), (None, 5, 5)]);
}

#[tokio::test]
async fn a_server_of_tools_that_connects_breaks_the_prefix_and_a_cut_output_does_not() {
    let happened = Effects::default();
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "One." => Script::call("bulk", json!({})),
            _ => Script::text("So it is."),
        }))
    });
    let bulk =
        TestTool::answering("bulk", Effect::Pure, &happened, |_, _| Ok(Outcome::text("long ".repeat(9_000))));
    let kinds = one_kind(|kind| kind.tools = Some(vec!["bulk".into(), "mcp__bank".into()]));
    let world = World::builder(model).tools(first_tools().with(bulk)).kinds(kinds).start().await;
    world.engine().server_is_away("bank", "it is closed");
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    say(&world, &root, "One.").await;
    let pay = TestTool::new("bank__pay", Effect::Unsafe, &happened);
    world.engine().server_brings("bank", vec![Arc::new(pay)]);
    say(&world, &root, "Two.").await;
    assert_eq!(broken(&world, &root).await, [(None, 1, 1), (Some(PrefixBreak::Tools), 0, 3)]);
}

#[tokio::test]
async fn a_digest_breaks_the_prefix_and_nothing_else_does() {
    let kinds = one_kind(|_| {});
    let world = World::builder(answering().with_window(4_096)).kinds(kinds).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    for n in 0..8 {
        say(&world, &root, &format!("{n} {}", "x".repeat(2_000))).await;
    }
    let items = world.client().items(root.id, 0, 1_000).await.unwrap();
    // Whether there is a digest since the turn before, for each turn but the first.
    let (mut follows, mut since) = (Vec::new(), false);
    for item in &items {
        match &item.body {
            ItemBody::Digest(_) => since = true,
            ItemBody::Turn(_) => follows.push(std::mem::take(&mut since)),
            _ => {}
        }
    }
    assert!(follows.contains(&true), "{items:?}");
    let causes: Vec<_> = broken(&world, &root).await.into_iter().map(|(cause, ..)| cause).collect();
    let expected: Vec<_> =
        follows[1..].iter().map(|is_after| is_after.then_some(PrefixBreak::Digest)).collect();
    assert_eq!(causes, expected);
}

/// A kind that reads the latest messages only gives up the prefix once older ones leave.
#[tokio::test]
async fn messages_that_leave_the_window_of_the_kind_break_the_prefix() {
    let model = answering();
    let kinds = one_kind(|kind| kind.context.messages = Some(3));
    let world = World::builder(model.clone()).kinds(kinds).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    for text in ["One.", "Two.", "Three.", "Four."] {
        say(&world, &root, text).await;
    }
    let first: Vec<_> = model.requests().into_iter().map(|request| request.messages[0].clone()).collect();
    let user = |text: &str| Message::User(text.into());
    assert_eq!(first, [user("One."), user("One."), user("Two."), user("Three.")]);
    let left = Some(PrefixBreak::Window);
    assert_eq!(broken(&world, &root).await, [(None, 1, 1), (left, 0, 3), (left, 0, 3)]);
}
