//! Code that waited and cannot be run, since the machine is not well, waits on and loses nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::Cause;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, RunQuery};
use entourage_testkit::{Faults, Story, World, WorldBuilder, plain};
use entourage_tools::{Caller, Context, Effect, Error, FairPlaces, Outcome, Tool};
use entourage_types::{Action, AgentId, Owner, Scope, Status, ToolSpec, Wait, WaitingOn};
use serde_json::{Value, json};

use crate::{
    code_crashes::survives_both_ways,
    kit::{Code, CodeTool, Snapshots, Waits, WorldExt, eventually, first_tools, one_kind},
};

fn mind(request: &Request) -> Script {
    match request.messages.last() {
        Some(Message::User(text)) if text.starts_with("Go") => Script::call("code", json!({})),
        Some(Message::User(text)) => Script::text(format!("did {text}")),
        Some(Message::Output { text, .. }) => Script::text(text.clone()),
        other => Script::text(format!("unexpected {other:?}")),
    }
}

fn world(code: fn(&mut Code) -> Result<String, Waits>, snapshots: &Snapshots) -> WorldBuilder {
    let model = ScriptedModel::deciding(|request| Some(Ok(mind(request))));
    let tools = first_tools().with(CodeTool::new(move |run, _| code(run)).snapshots(snapshots));
    World::builder(model).tools(tools).kinds(one_kind(|_| {})).store(MemoryStore::default())
}

/// Forks, and once there is a result the machine is not well so many times in a row.
fn after_trouble<const TIMES: u32>(code: &mut Code) -> Result<String, Waits> {
    let (a, b) = (code.fork("A"), code.fork("B"));
    if code.outputs() > 0 {
        code.unavailable(TIMES)?;
    }
    let (a, b) = (code.wait(a)?, code.wait(b)?);
    Ok(format!("{}, {}", a.text, b.text))
}

/// How often in a row the code could not be run, once it waits for that.
async fn failures(world: &World, root: AgentId, times: u32) {
    let why = async || world.client().why(root).await.unwrap();
    let fits = |why: &entourage_engine::Why| {
        matches!(why.cause(), Cause::CodeRetry { failures, error, .. }
            if *failures == times && *error == format!("the machine is not well ({})", times - 1))
    };
    let why = eventually("the code waits for the machine", why, fits).await;
    assert!(why.text().contains("runs its code again at"), "{}", why.text());
    let agent = world.client().agent(root).await.unwrap();
    assert_eq!((agent.status, agent.waiting_on), (Status::Waiting, Some(WaitingOn::Retry)));
}

async fn output(world: &World, root: AgentId) -> String {
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    assert_eq!(world.audit().await, []);
    assert_eq!(world.inconsistencies().await, Vec::<String>::new());
    let lines = plain(&world.client().items(root, 0, 1_000).await.unwrap());
    lines.into_iter().find(|line| line.starts_with("output")).unwrap()
}

/// The pauses grow; each result is read once, whatever the machine did meanwhile, and nothing is deleted.
#[tokio::test]
async fn code_that_cannot_be_run_is_run_again_later_and_reads_what_its_agents_returned() {
    let mut world = world(after_trouble::<4>, &Snapshots::kept()).start().await;
    let root = world.ask("Go.").await.id;
    for (times, pause) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        failures(&world, root, times).await;
        world.clock().advance(Duration::from_secs(pause) - Duration::from_millis(1));
        failures(&world, root, times).await;
        if times == 2 {
            world = world.restart(Faults::default()).await;
            failures(&world, root, times).await;
        }
        world.clock().advance(Duration::from_millis(1));
    }
    assert_eq!(output(&world, root).await, "output: did A, did B");
    assert_eq!(world.client().tree(root).await.unwrap().len(), 3);
}

#[tokio::test]
async fn who_retries_an_agent_has_its_code_run_at_once_and_once() {
    let world = world(after_trouble::<2>, &Snapshots::default()).start().await;
    let root = world.ask("Go.").await.id;
    for times in 1..=2 {
        failures(&world, root, times).await;
        world.client().intervene(root, Action::Retry, None).await.unwrap();
    }
    assert_eq!(output(&world, root).await, "output: did A, did B");
}

/// How often in a row the code could not be run, by the row of its step, and how often of these it was killed.
async fn troubles(world: &World, root: AgentId) -> (u32, u32) {
    let query = RunQuery { agent: Some(root), ..RunQuery::default() };
    let run = world.store().runs(&Scope::All, query).await.unwrap().remove(0);
    let steps = world.store().steps(&Scope::All, run.id).await.unwrap();
    let retries = steps.iter().filter_map(|step| match step.wait() {
        Some(Wait::SubCalls { retry: Some(retry), .. }) => Some((retry.failures, retry.kills)),
        _ => None,
    });
    retries.max().unwrap_or_default()
}

async fn tried(world: &World, root: AgentId) -> u32 {
    troubles(world, root).await.0
}

/// Kills have a number of their own, which other trouble does not raise: many hours without what runs code do not make
/// the first kill the last one.
#[tokio::test]
async fn kills_of_code_are_counted_apart_from_other_trouble() {
    let code = |code: &mut Code| {
        let a = code.fork("A");
        let a = code.wait(a)?;
        code.unavailable(2)?;
        code.killed(2)?;
        Ok(a.text)
    };
    let world = world(code, &Snapshots::default()).start().await;
    let root = world.ask("Go.").await.id;
    for trouble in [(1, 0), (2, 0), (3, 1), (4, 2)] {
        eventually("it is tried", async || troubles(&world, root).await, |met| *met == trouble).await;
        world.client().intervene(root, Action::Retry, None).await.unwrap();
    }
    assert_eq!(output(&world, root).await, "output: did A");
}

/// What stays in the inbox until the agent rests makes it try no more often.
#[tokio::test]
async fn a_retry_beside_what_is_not_applied_yet_makes_it_try_once() {
    let world = world(after_trouble::<50>, &Snapshots::default()).start().await;
    let root = world.ask("Go.").await.id;
    failures(&world, root, 1).await;
    world.client().intervene(root, Action::CloseSession, None).await.unwrap();
    for times in 2..=3 {
        world.client().intervene(root, Action::Retry, None).await.unwrap();
        eventually("it is tried", async || tried(&world, root).await, |tried| *tried >= times).await;
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tried(&world, root).await, times);
    }
}

#[tokio::test]
async fn code_that_cannot_be_run_at_all_has_failed() {
    let code = |code: &mut Code| code.unavailable(1).map(|()| "ran".to_owned());
    let world = world(code, &Snapshots::default()).start().await;
    let root = world.ask("Go.").await.id;
    assert_eq!(output(&world, root).await, "output!: the machine is not well (0)");
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_cannot_be_run_survives_a_crash_at_every_commit() {
    let story = |snapshots: &Snapshots| {
        let snapshots = snapshots.clone();
        Story::new(["Go."], move |_| world(after_trouble::<2>, &snapshots)).any_order()
    };
    let (undisturbed, points) = survives_both_ways(story, &[1], 1).await;
    assert!(undisturbed.transcripts[0].iter().any(|line| line == "turn: did A, did B[]"));
    assert!(points >= 50, "{points}");
}

/// A tool with few places, which counts how many of its calls run.
struct Crowded {
    places: FairPlaces,
    made: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Crowded {
    fn name(&self) -> &str {
        "code"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("code", "Has few places.", json!({ "type": "object" })))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn places(&self) -> Option<&FairPlaces> {
        Some(&self.places)
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        self.made.fetch_add(1, Ordering::SeqCst);
        Ok(Outcome::text("done"))
    }
}

/// Neither its time limit, nor that of the run, of an activation, nor of a silent one ends it.
#[tokio::test]
async fn a_call_waits_for_a_place_of_its_tool_for_longer_than_it_may_take() {
    let (places, made) = (FairPlaces::new(1), Arc::new(AtomicUsize::new(0)));
    let model = ScriptedModel::deciding(|request| Some(Ok(mind(request))));
    let tools = first_tools().with(Crowded { places: places.clone(), made: Arc::clone(&made) });
    let kind = one_kind(|kind| {
        let limits = &mut kind.limits;
        (limits.tool_seconds, limits.model_seconds, limits.max_seconds) = (5, 5, 60);
    });
    let world = World::builder(model).tools(tools).kinds(kind).start().await;
    let taken = places.enter(&Owner::new("another")).await;
    let root = world.ask("Go.").await.id;
    let turns = async || world.client().items(root, 0, 100).await.unwrap().len();
    eventually("the model has made the call", turns, |items| *items == 2).await;
    for _ in 0..120 {
        world.clock().advance(Duration::from_secs(20));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(made.load(Ordering::SeqCst), 0);
    drop(taken);
    assert_eq!(output(&world, root).await, "output: done");
    let lines = plain(&world.client().items(root, 0, 100).await.unwrap());
    assert!(lines.iter().all(|line| !line.starts_with("notice")), "{lines:#?}");
    assert_eq!(made.load(Ordering::SeqCst), 1, "it was not begun anew meanwhile");
}

/// One of two agents has ended, and what runs the code is not there: a person may retry, and is told why it waits, though
/// the other agent waits for a person.
#[tokio::test]
async fn code_that_cannot_be_run_is_retried_beside_an_agent_that_waits() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "B" => Script::call("ask_user", json!({ "question": "B?" })),
            _ => mind(request),
        }))
    });
    let code = CodeTool::new(|code: &mut Code, _: &Value| {
        let all = [code.fork("A"), code.fork("B")];
        if code.outputs() > 0 {
            code.unavailable(1)?;
        }
        code.first(&all).map(|(_, output)| output.text)
    });
    let tools = first_tools().with(code);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await.id;
    world.question(root).await;
    let why = async || world.client().why(root).await.unwrap();
    let is_told = |why: &entourage_engine::Why| matches!(why.cause(), Cause::CodeRetry { failures: 1, .. });
    eventually("it is told why", why, is_told).await;
    world.client().intervene(root, Action::Retry, None).await.unwrap();
    assert_eq!(output(&world, root).await, "output: did A");
}
