//! Chats: an orchestrator that follows a script, and sub-agents that answer by their input.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kit::WorldExt;
use entourage_engine::Role;
use entourage_llm::{Error, Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::World;
use entourage_types::{Agent, AgentId, Event, EventBody, Task};
use serde_json::{Value, json};

/// An orchestrator that follows a script, and sub-agents that answer by their input.
pub(crate) fn cast(
    script: &ScriptedModel,
    works: impl Fn(&Request) -> Result<Script, Error> + Send + Sync + 'static,
) -> ScriptedModel {
    let own = script.clone();
    ScriptedModel::deciding(move |request| match is_orchestrator(request) {
        true => own.next_answer(),
        false => Some(works(request)),
    })
}

/// A sub-agent that completes its instruction with its first answer.
pub(crate) fn obeys(request: &Request) -> Result<Script, Error> {
    Ok(Script::text(format!("did {}", told(request))))
}

/// Whether the request is the orchestrator's.
pub(crate) fn is_orchestrator(request: &Request) -> bool {
    request.system.contains("You are the Orchestrator")
}

/// The last message or notice that an agent reads.
pub(crate) fn told(request: &Request) -> &str {
    let last = request.messages.iter().rev().find_map(|message| match message {
        Message::User(text) | Message::Notice(text) => Some(text.as_str()),
        _ => None,
    });
    last.unwrap_or_default()
}

/// The call with which an orchestrator starts a researcher.
pub(crate) fn start(task: &str) -> Script {
    Script::call("spawn_agent", json!({"kind": "researcher", "task": task}))
}

/// The call with which it reactivates an agent.
pub(crate) fn reactivate(agent: impl ToString, message: &str) -> Script {
    Script::call("reactivate_agent", json!({"agent": agent.to_string(), "message": message}))
}

/// The entries of the chat that a person has seen.
pub(crate) async fn main_chat(world: &World, chat: AgentId) -> Vec<(Role, String)> {
    let entries = world.client().transcript(chat).await.expect("the chat is there");
    entries.into_iter().map(|entry| (entry.role, entry.text)).collect()
}

/// Waits until this many runs of an agent have ended, and returns the events up to there.
pub(crate) async fn ended_runs(world: &World, agent: &Agent, runs: usize) -> Vec<Event> {
    let ended = AtomicUsize::new(0);
    world
        .until(agent.root, |event| {
            let over = matches!(&event.body, EventBody::Run { status, .. } if status.is_terminal());
            over && event.agent == agent.id && ended.fetch_add(1, Ordering::SeqCst) + 1 == runs
        })
        .await
}

/// The tasks of a chat, oldest first.
pub(crate) async fn tasks(world: &World, chat: AgentId) -> Vec<Task> {
    world.client().tasks(Some(chat), None, Page::default()).await.expect("the tasks are there")
}

/// The agents below the orchestrator, oldest first.
pub(crate) async fn workers(world: &World, chat: AgentId) -> Vec<Agent> {
    world.client().tree(chat).await.expect("the tree is there").split_off(1)
}

/// The whole text of a request to a scripted model.
pub(crate) fn whole(request: &Request) -> String {
    let messages: Vec<String> = request.messages.iter().map(|message| format!("{message:?}")).collect();
    let tools: Value = request.tools.iter().map(|tool| tool.name.clone()).collect();
    format!("{}\n{}\n{tools}", request.system, messages.join("\n"))
}
