//! Budgets hold for each model call, also where it is no turn: for decisions of programs and for digests.

use entourage_engine::{Cause, DecisionRequest, Kinds, NewAgent};
use entourage_llm::{Message, Model, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Fault, HeldModel, Story, World, WorldBuilder, plain};
use entourage_types::{Agent, Amount, Budget, Digest, ItemBody, Limits, Status, StepStatus, Usage};
use futures::FutureExt;
use serde_json::json;

use crate::{
    budgets::{asleep_over_budget, person},
    kit::{WithProgram, WorldBuilderExt, eventually, insist, one_kind, programmed, within},
};

/// The tokens that an answer uses, unless the test is about that.
const USED: u64 = 300;
/// Tokens that are enough for all calls of a test.
const PLENTY: u64 = 1_000_000;
/// The window of a model that is asked for digests.
const WINDOW: u32 = 4_096;

fn using(input: u64) -> Usage {
    Usage { input, output: 100, ..Usage::default() }
}

fn limits(tokens: u64) -> Limits {
    Limits { max_tree_tokens: Some(tokens), max_answer_tokens: Some(100), ..Limits::default() }
}

async fn budget(world: &World, root: &Agent) -> Budget {
    world.client().budgets(root.id).await.unwrap().remove(0).budget
}

async fn grant(world: &World, root: &Agent, tokens: u64) {
    let more = Amount { tokens, ..Amount::default() };
    person(world).grant_budget(root.id, more, None).await.unwrap();
}

/// Asserts that nothing is held back for calls that are over, and that this much was spent.
async fn assert_settled(world: &World, root: &Agent, tokens: u64) {
    let Budget { spent, presumed, reserved, .. } = budget(world, root).await;
    assert_eq!((spent.tokens, presumed.tokens, reserved.tokens), (tokens, 0, 0));
    assert_eq!(world.audit().await, []);
}

fn ask() -> DecisionRequest {
    let schema = json!({
        "type": "object", "properties": { "yes": { "type": "boolean" } }, "required": ["yes"],
    });
    DecisionRequest::new("Is it clear?", schema)
}

/// A tree that may use this many tokens, and whose program makes one decision.
fn deciding(model: impl Model, tokens: u64) -> WorldBuilder {
    let kinds = programmed(|kind| kind.limits = limits(tokens));
    World::builder(model).kinds(kinds).program(&[], |run| {
        async move {
            run.receive().await?;
            let decided = run.decide("clear", ask()).await??;
            Ok(run.say(decided.to_string()))
        }
        .boxed()
    })
}

/// A model whose first answer to a decision does not fit, and uses this much.
fn unsure(first: u64) -> ScriptedModel {
    ScriptedModel::deciding(move |request| {
        let is_first = !request.messages.iter().any(|message| matches!(message, Message::Notice(_)));
        let (text, input) = if is_first { ("Perhaps.", first) } else { (r#"{"yes": true}"#, USED) };
        Some(Ok(Script::text(text).using(using(input - 100))))
    })
}

#[tokio::test]
async fn each_answer_of_a_decision_is_reserved_and_settled() {
    let model = HeldModel::new(unsure(USED));
    let world = deciding(model.clone(), PLENTY).start().await;
    let root = world.ask("Paint it.").await;
    for settled in [0, USED] {
        model.begun().await;
        let held = budget(&world, &root).await;
        // At least what is sent beside the texts, and the longest answer.
        assert!(held.reserved.tokens > 612, "{held:?}");
        assert_eq!((held.spent.tokens, held.presumed.tokens), (settled, 0));
        model.let_go(1);
    }
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_settled(&world, &root, 2 * USED).await;
}

/// What is said to lack is all that lacks: the request that is made after the grant needs no more.
#[tokio::test]
async fn a_decision_that_meets_the_budget_waits_until_what_it_lacks_is_granted() {
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text(r#"{"yes": true}"#).using(using(200)))));
    let world = deciding(model.clone(), 10).start().await;
    let root = world.ask("Paint it.").await;
    asleep_over_budget(&world, &root).await;
    assert!(model.requests().is_empty(), "no model is asked");
    let why = world.client().why(root.id).await.unwrap();
    let Cause::Budget { shortage, .. } = why.cause() else { panic!("{why:?}") };
    let lacking = shortage.needs.tokens.unwrap() - shortage.left.tokens.unwrap();
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    let step = world.client().steps(run.id).await.unwrap().remove(0);
    assert_eq!((step.key.to_string().as_str(), step.status()), ("decision/clear", StepStatus::Retry));
    grant(&world, &root, lacking).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[1].starts_with("notice over_budget: "), "{lines:?}");
    assert_eq!(lines[2..], [r#"decision: {"yes":true}"#, r#"turn: {"yes":true}[]"#]);
    let requests = model.requests();
    assert_eq!(requests.len(), 1);
    assert!(!format!("{requests:?}").contains("budget"), "the model reads nothing of it: {requests:?}");
    assert_settled(&world, &root, USED).await;
}

/// The first answer is on record and paid for: only the second one waits.
#[tokio::test]
async fn the_second_answer_of_a_decision_waits_for_the_budget_that_the_first_has_met() {
    let model = unsure(700);
    let world = deciding(model.clone(), 1_500).start().await;
    let root = world.ask("Paint it.").await;
    asleep_over_budget(&world, &root).await;
    assert_eq!(model.requests().len(), 1);
    assert_eq!(budget(&world, &root).await.spent.tokens, 700);
    grant(&world, &root, PLENTY).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "the first answer is not asked for again");
    assert!(matches!(requests[1].messages.last(), Some(Message::Notice(why)) if why.contains("JSON")));
    assert_settled(&world, &root, 700 + USED).await;
}

/// A decision waits for a grant whatever dies, and a person's grant reaches it.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_over_budget_survives_a_crash_at_every_commit() {
    let granted = async |at, fault| {
        let world = deciding(unsure(USED), 10).store(MemoryStore::default()).start_with(at, fault).await;
        let faults = world.faults().clone();
        let new = || NewAgent { message: Some("Paint it.".into()), ..NewAgent::default() };
        let (world, root) = insist(world, async |world| person(world).create(new(), Some("new")).await).await;
        let (world, ()) = insist(world, async |world| {
            asleep_over_budget(world, &root).await;
            Ok(())
        })
        .await;
        let more = Amount { tokens: PLENTY, ..Amount::default() };
        let (world, states) =
            insist(world, async |world| person(world).grant_budget(root.id, more, Some("more")).await).await;
        assert_eq!(states[0].budget.granted, more, "once");
        let (world, ended) = insist(world, async |world| Ok(world.ended(root.id).await)).await;
        assert_eq!(ended.status, Status::Succeeded);
        let settled = budget(&world, &root).await;
        assert!(settled.reserved.is_zero() && settled.spent.tokens >= USED, "{settled:?}");
        assert_eq!(world.audit().await, []);
        faults.commits()
    };
    let commits = granted(u64::MAX, Fault::DieBefore).await;
    assert!(commits >= 6, "{commits}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            within(&format!("{fault:?} at commit {at}"), granted(at, fault)).await;
        }
    }
}

fn is_summary(request: &Request) -> bool {
    request.system.starts_with("You keep the memory")
}

/// A model with a small window, whose answer to the message of this number uses this much.
fn summarizing(dear: (usize, u64)) -> ScriptedModel {
    let model = ScriptedModel::deciding(move |request| {
        let users = request.messages.iter().filter(|message| matches!(message, Message::User(_))).count();
        let input = if users == dear.0 { dear.1 } else { USED };
        let text = if is_summary(request) { "It was long." } else { "So it is." };
        Some(Ok(Script::text(text).using(using(input - 100))))
    });
    model.with_window(WINDOW)
}

fn long(number: usize) -> String {
    format!("message {number} {}", "x".repeat(2_000))
}

fn talking(tokens: u64) -> Kinds {
    one_kind(|kind| kind.limits = limits(tokens))
}

async fn digests(world: &World, root: &Agent) -> Vec<Digest> {
    let items = world.client().items(root.id, 0, 1_000).await.unwrap();
    let digest = |item: entourage_types::Item| match item.body {
        ItemBody::Digest(digest) => Some(digest),
        _ => None,
    };
    items.into_iter().filter_map(digest).collect()
}

#[tokio::test]
async fn a_digest_is_reserved_and_settled_as_a_turn_is() {
    let script = summarizing((0, USED));
    let model = HeldModel::new(script.clone());
    let world = World::builder(model.clone()).kinds(talking(PLENTY)).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    let mut calls = 0;
    for number in 0..8 {
        person(&world).send(root.id, &long(number), None).await.unwrap();
        // A turn, and before it a digest if the window is full.
        for _ in 0..2 {
            model.begun().await;
            let held = budget(&world, &root).await;
            assert!(held.reserved.tokens > 2_000, "{held:?}");
            assert_eq!((held.spent.tokens, held.presumed.tokens), (calls * USED, 0), "settled by now");
            calls += 1;
            model.let_go(1);
            let answered = async || script.requests().len() as u64;
            eventually("it is answered", answered, |answered| *answered == calls).await;
            if script.requests().last().is_some_and(|request| !is_summary(request)) {
                break;
            }
        }
        world.ended(root.id).await;
    }
    let digests = digests(&world, &root).await;
    assert!(!digests.is_empty() && digests.iter().all(|digest| digest.text == "It was long."), "{digests:?}");
    assert_eq!(calls, 8 + digests.len() as u64);
    assert_settled(&world, &root, calls * USED).await;
}

/// Without room for its summary the beginning is cut to excerpts, and it is the turn behind it that waits.
#[tokio::test]
async fn a_digest_that_the_budget_does_not_hold_has_excerpts_and_the_turn_waits() {
    let model = summarizing((5, 8_200));
    let world = World::builder(model.clone()).kinds(talking(12_500)).start().await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    for number in 1..=6 {
        person(&world).send(root.id, &long(number), None).await.unwrap();
        if number < 6 {
            world.ended(root.id).await;
            assert_eq!(digests(&world, &root).await, []);
        }
    }
    asleep_over_budget(&world, &root).await;
    assert_eq!(model.requests().len(), 5, "neither a summary nor a turn is asked for");
    let made = digests(&world, &root).await;
    let [Digest { text, used: None, asked: None, .. }] = &made[..] else { panic!("{made:?}") };
    assert!(text.contains("message 1 "), "{text}");
    let why = world.client().why(root.id).await.unwrap();
    assert!(matches!(why.cause(), Cause::Budget { .. }), "{why:?}");
    grant(&world, &root, PLENTY).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(digests(&world, &root).await, made, "the digest stands");
    let requests = model.requests();
    assert_eq!(requests.len(), 6);
    assert!(!requests.iter().any(is_summary) && format!("{:?}", requests[5]).contains("message 1 "));
    assert_settled(&world, &root, 4 * USED + 8_200 + USED).await;
}

/// Decisions, turns and digests under one budget: whatever dies at any commit, each is reserved and settled once.
#[tokio::test(flavor = "multi_thread")]
async fn the_reservations_of_decisions_and_digests_survive_a_crash_at_every_commit() {
    let messages: Vec<String> = (0..7).map(long).collect();
    let story = Story::new(messages.iter().map(String::as_str), |_| {
        let model = ScriptedModel::deciding(|request| {
            let text = match request.output_schema {
                Some(_) => r#"{"yes": true}"#,
                None if is_summary(request) => "It was long.",
                None => "So it is.",
            };
            Some(Ok(Script::text(text).using(using(200))))
        });
        let kinds = programmed(|kind| kind.limits = limits(PLENTY));
        let builder = World::builder(model.with_window(WINDOW)).kinds(kinds).store(MemoryStore::default());
        builder.program(&[], |run| {
            async move {
                run.receive().await?;
                run.decide("clear", ask()).await??;
                entourage_engine::programs::converse(run).await
            }
            .boxed()
        })
    });
    let undisturbed = story.run(1, &[]).await;
    let digests = undisturbed.transcripts[0].iter().filter(|line| line.starts_with("digest")).count();
    assert!(digests >= 1, "{:?}", undisturbed.transcripts);
    let points = story.survives([1], 6).await;
    assert!(points >= 20, "{points}");
}
