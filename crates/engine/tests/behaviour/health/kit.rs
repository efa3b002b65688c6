//! Goals, and tasks that do what their instructions say: answer, rest, sleep for a day, or be put off by a closed gate.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Client, Engine, HealthReport, Kinds, NewGoal, Page};
use entourage_llm::{Error, Message, Request, Script, ScriptedModel};
use entourage_store::{Layered, Result, Store, StoreLayer};
use entourage_testkit::{LostTimers, World, WorldBuilder, quiet};
use entourage_types::{
    Agent, AgentId, CreatedTasks, HealthAct, Kind, OnTaskEnd, Owner, Sessions, Status, Task,
};
use serde_json::json;

use crate::kit::{eventually, first_tools};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn is_of_task(request: &Request) -> bool {
    request.system.starts_with("You work on one task")
}

/// A minute after this nothing wakes the agent any more: its world [loses](LostTimers) what would.
fn rest() -> Script {
    Script::call("wait", json!({ "seconds": 60 }))
}

fn sleep() -> Script {
    Script::call("wait", json!({ "seconds": 24 * 60 * 60 }))
}

/// The gate is closed: no attempt is made, and none counts.
fn busy() -> Error {
    Error::Busy { model: "m".into(), after: 5 * MINUTE }
}

/// What all agents do.
pub(super) fn mind() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let last = request.messages.last().unwrap();
        let says = |what: &str| format!("{last:?}").contains(what);
        Some(match (is_of_task(request), last) {
            (true, Message::Output { .. }) => Ok(Script::text("Rested.")),
            (true, _) if says("Rest.") => Ok(rest()),
            (true, _) if says("Sleep.") => Ok(sleep()),
            (true, _) if says("Be put off.") => Err(busy()),
            (true, _) => Ok(Script::text("Found it.")),
            (false, Message::User(_)) if says("Give it: ") => {
                let text = format!("{last:?}");
                let task = text.split("Give it: ").nth(1).unwrap().split_once('.').unwrap().0;
                let instructions = format!("{task}.");
                Ok(Script::call("create_task", json!({ "title": "T", "instructions": instructions }))
                    .and_call("send_message", json!({ "message": "It has begun." })))
            }
            (false, Message::User(_)) if says("Rest.") => Ok(rest()),
            (false, Message::User(_)) if says("Sleep.") => Ok(sleep()),
            (false, Message::User(_)) if says("Ask.") => {
                Ok(Script::call("ask_user", json!({ "question": "Which?" })))
            }
            (false, _) => Ok(Script::call("send_message", json!({ "message": "Noted." }))),
        })
    })
}

/// The built-in kinds, whose goals and tasks may rest, and whose goals may ask.
pub(super) fn kinds(on_end: OnTaskEnd) -> Kinds {
    let with = |kinds: Kinds, name: &str, change: &dyn Fn(&mut Kind)| {
        let mut kind = Kind::clone(&kinds.get(name).expect("it is built in"));
        change(&mut kind);
        kind.version.clear();
        kinds.with(kind)
    };
    let offer = |kind: &mut Kind, tools: &[&str]| {
        kind.tools.get_or_insert_default().extend(tools.iter().map(|tool| (*tool).to_owned()));
    };
    let kinds = with(Kinds::builtin(), "task", &|kind| offer(kind, &["wait"]));
    let kinds = with(kinds, "goal", &|kind| {
        // The clock moves on by days: no session ends meanwhile.
        kind.context.sessions = Sessions::Kept;
        offer(kind, &["wait", "ask_user"]);
        kind.tasks = Some(CreatedTasks { kind: "task".into(), on_end });
    });
    quiet(kinds)
}

pub(super) fn world(on_end: OnTaskEnd) -> WorldBuilder {
    World::builder(mind()).tools(first_tools()).kinds(kinds(on_end)).between(LostTimers)
}

/// A person at the engine at work.
pub(super) fn person(world: &World) -> Client {
    world.engine().client(Owner::local())
}

/// Creates a goal, and tells its agent this.
pub(super) async fn goal(world: &World, says: &str) -> AgentId {
    let client = person(world);
    let new = NewGoal { title: "See Rome".into(), ..NewGoal::default() };
    let goal = client.create_goal(new, None).await.unwrap().agent;
    client.send(goal, says, None).await.unwrap();
    goal
}

/// Creates a goal with a task that does this. Returns the goal's agent, and the task once its agent is in this status.
pub(super) async fn task(world: &World, does: &str, status: Status) -> (AgentId, Task) {
    let goal = goal(world, &format!("Give it: {does}")).await;
    let given = async || tasks(world, goal).await;
    let task = eventually("it is given", given, |tasks| tasks.len() == 1).await.remove(0);
    in_status(world, task.to, status).await;
    in_status(world, goal, Status::Succeeded).await;
    (goal, task)
}

/// Waits until an agent is in this status, and its activation is over: one that was at work while the clock moves on by
/// hours is taken for stuck.
pub(super) async fn in_status(world: &World, agent: AgentId, status: Status) -> Agent {
    let look = async || world.client().agent(agent).await.unwrap();
    let found = eventually("it is in this status", look, |agent| agent.status == status).await;
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    found
}

pub(super) async fn tasks(world: &World, goal: AgentId) -> Vec<Task> {
    world.client().goal_tasks(goal, Page::all()).await.unwrap()
}

/// Does a round, and returns what it did to whom.
pub(super) async fn round(world: &World) -> Vec<(AgentId, HealthAct)> {
    done(&person(world).run_health(false).await.unwrap().reports)
}

pub(super) fn done(reports: &[HealthReport]) -> Vec<(AgentId, HealthAct)> {
    reports.iter().map(|report| (report.agent, report.what)).collect()
}

/// Counts the calls of a store.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<AtomicU64>);

impl Calls {
    pub(super) fn so_far(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl StoreLayer for Calls {
    async fn pass(&self) -> Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// An engine over a store, by the clock of a world, that only does rounds; and the calls that it makes.
pub(super) fn counted(store: &Arc<dyn Store>, world: &World) -> (Engine, Calls) {
    let calls = Calls::default();
    let store = Arc::new(Layered::new(Arc::clone(store), calls.clone()));
    let engine = Engine::builder(store, Arc::new(ScriptedModel::new([])))
        .kinds(kinds(OnTaskEnd::Quiet))
        .clock(Arc::new(world.clock().clone()))
        .build();
    (engine, calls)
}
