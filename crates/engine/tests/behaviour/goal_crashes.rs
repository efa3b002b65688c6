//! A fault at every commit of what a goal and the user agent do by themselves: a message with a task, a feed whose session
//! is closed right after, a schedule that fires.

use std::time::Duration;

use entourage_engine::{Clock as _, Error, Kinds, NewGoal, NewSchedule, Page};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::{MemoryStore, RecordFilter};
use entourage_testkit::{Fault, Faults, World, WorldBuilder, plain, quiet};
use entourage_types::{AgentId, Note, Owner, Recurrence, Schedule, SessionEnd, Task, Time, Trigger};
use serde_json::{Value, json};

use crate::kit::{first_tools, insist};

const HOUR: Duration = Duration::from_secs(3600);

fn model() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let turns = request.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
        let turns = turns.filter(|message| matches!(message, Message::Assistant { .. })).count();
        let is_feed = request
            .messages
            .iter()
            .any(|message| matches!(message, Message::User(text) if text.starts_with("Write the feed")));
        let task =
            |title: &str| Script::call("create_task", json!({ "title": title, "instructions": "Find it." }));
        Some(Ok(match turns {
            _ if request.system.starts_with("You keep the records") => Script::text("It was found."),
            0 if request.system.starts_with("You work on one task") => {
                Script::call("create_note", json!({ "title": "Found", "content": "There." }))
            }
            _ if request.system.starts_with("You work on one task") => Script::text("There."),
            0 if is_feed => task("For the feed"),
            0 => task("For the goal"),
            _ => Script::call("send_message", json!({ "message": "It has begun." })),
        }))
    })
}

/// What came of it, without ids and times.
#[derive(Debug, PartialEq)]
struct Outcome {
    of_goal: Vec<String>,
    of_user_agent: Vec<String>,
    tasks: Vec<(String, String, Option<String>)>,
    notes: usize,
    sessions: Vec<(SessionEnd, u32)>,
    fired: (u64, u64),
}

/// Has every agent work when its time comes, in as many processes as it takes.
async fn live_until(mut world: World, end: Time) -> World {
    while let Some(next) = world.store().due(end, None, 1).await.unwrap().pop() {
        let now = world.clock().now();
        if next.due > now {
            world.clock().advance(next.due.since(now));
        }
        let faults = world.faults().clone();
        match faults.unless_dead(world.engine().advance(next.agent)).await {
            // A lost connection or another worker: it is tried again.
            Some(Ok(()) | Err(_)) => {}
            None => world = world.restart(Faults::default()).await,
        }
    }
    let now = world.clock().now();
    if end > now {
        world.clock().advance(end.since(now));
    }
    world
}

async fn transcript(world: &World, agent: AgentId) -> Vec<String> {
    let items = world.engine().client(Owner::local()).items(agent, 0, 1_000).await.unwrap();
    // When a task is first seen depends on which agent a restart serves first.
    plain(&items)
        .into_iter()
        .filter(|line| !line.starts_with("context: "))
        .map(|line| without_ids(&line))
        .collect()
}

fn without_ids(line: &str) -> String {
    let mut parts = line.split(['_']);
    let first = parts.next().unwrap_or_default().to_owned();
    let is_id = |part: &str| part.len() >= 32 && part.bytes().take(32).all(|byte| byte.is_ascii_hexdigit());
    parts.fold(first, |line, part| line + "_" + if is_id(part) { &part[32..] } else { part })
}

/// A world with a database.
fn with_database() -> WorldBuilder {
    World::builder(model()).tools(first_tools()).kinds(quiet(Kinds::builtin())).dispatchers([])
}

/// A world without.
fn in_memory() -> WorldBuilder {
    with_database().store(MemoryStore::default())
}

/// Lives through the story with this fault, and returns what came of it, and how many commits it took.
async fn story(world: WorldBuilder, fault: Option<(u64, Fault)>) -> (Outcome, u64) {
    let world = world.start().await;
    if let Some((at, fault)) = fault {
        world.faults().plan(at, fault);
    }
    let first = world.faults().clone();
    let person = |world: &World| world.engine().client(Owner::local());
    let new = NewGoal { title: "Rome".into(), ..NewGoal::default() };
    let create = async |world: &World| {
        let client = person(world);
        again(|| client.create_goal(new.clone(), Some("goal"))).await
    };
    let (world, goal) = insist(world, create).await;
    let find = async |world: &World| {
        let client = person(world);
        again(|| client.user_agent()).await.map(|agent| agent.id)
    };
    let (world, user_agent) = insist(world, find).await;
    let begin = world.clock().now();
    let feed = NewSchedule {
        agent: user_agent,
        text: String::new(),
        trigger: Trigger { name: "feed_generation".into(), payload: Value::Null, schedule: None },
        first: Some(begin + HOUR),
        recurrence: Recurrence::Every { seconds: 3600 },
    };
    let schedule = async |world: &World| {
        let client = person(world);
        again(|| client.schedule(feed.clone(), Some("feed"))).await
    };
    let (world, feed) = insist(world, schedule).await;
    let send = async |world: &World| {
        let client = person(world);
        again(|| client.send(goal.agent, "Find it.", Some("message"))).await
    };
    let (world, _) = insist(world, send).await;
    let world = live_until(world, begin + HOUR * 5 / 2).await;
    let client = person(&world);
    let mut tasks: Vec<Task> = client.records(RecordFilter::default()).await.unwrap();
    tasks.sort_by_key(|task| (task.origin.clone(), task.created));
    let notes: Vec<Note> = client.records(RecordFilter::default()).await.unwrap();
    let sessions = client.sessions(user_agent, Page::all()).await.unwrap();
    let schedule: Schedule = client.record(feed.id).await.unwrap();
    assert_eq!(world.audit().await, [], "{fault:?}");
    let outcome = Outcome {
        of_goal: transcript(&world, goal.agent).await,
        of_user_agent: transcript(&world, user_agent).await,
        tasks: tasks.into_iter().map(|task| (task.title, task.status.to_string(), task.origin)).collect(),
        notes: notes.len(),
        sessions: sessions.iter().map(|session| (session.reason, session.messages)).collect(),
        fired: (schedule.fired, schedule.left_out),
    };
    (outcome, first.commits())
}

/// Does something again if its connection was lost.
async fn again<T, F: Future<Output = Result<T, Error>>>(does: impl Fn() -> F) -> Result<T, Error> {
    match does().await {
        Err(Error::Store(_)) => does().await,
        done => done,
    }
}

/// Shows: S4-R042, S4-R045, S4-R061, S4-R098.
#[tokio::test]
async fn a_message_a_task_a_feed_and_a_schedule_survive_a_fault_at_every_commit() {
    let (whole, commits) = story(in_memory(), None).await;
    assert_eq!((whole.fired, whole.notes, whole.tasks.len()), ((2, 0), 3, 3), "{whole:?}");
    assert_eq!(whole.sessions.len(), 2, "{whole:?}");
    assert!(commits > 25, "{commits}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::ENDING[2 + at as usize % 3]] {
            let (outcome, _) = story(in_memory(), Some((at, fault))).await;
            assert_eq!(outcome, whole, "{fault:?} at {at}");
        }
    }
}

/// At a commit of each part of the story every fault is tried, also what the other test leaves out there.
///
/// Shows: S4-R042, S4-R045, S4-R061, S4-R098.
#[tokio::test]
async fn every_fault_is_survived_at_a_sample_of_the_commits() {
    let (whole, commits) = story(in_memory(), None).await;
    for at in (1..=commits).step_by(5) {
        for fault in Fault::ENDING {
            let (outcome, _) = story(in_memory(), Some((at, fault))).await;
            assert_eq!(outcome, whole, "{fault:?} at {at}");
        }
    }
}

/// A database is read by the next process as it was left.
///
/// Shows: S4-R098.
#[tokio::test]
async fn the_story_goes_the_same_way_in_a_database_whichever_fault_it_meets() {
    let (whole, commits) = story(in_memory(), None).await;
    let (outcome, as_many) = story(with_database(), None).await;
    assert_eq!((&outcome, as_many), (&whole, commits));
    for (number, fault) in (1..).zip(Fault::ENDING) {
        let at = commits * number / 6;
        let (outcome, _) = story(with_database(), Some((at, fault))).await;
        assert_eq!(outcome, whole, "{fault:?} at {at}");
    }
}
