//! Tests of the library interface: agents that message agents, and telemetry.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod building;
mod explorations;
mod keeping;
mod loops;
mod programs;
mod python;
mod recorder;
mod responses;
mod restarts;
mod shared;
mod streams;
mod subscribers;
mod telemetry;

use std::{sync::Arc, time::Duration};

use entourage::agency::{Agency, AgencyBuilder, Agent, AgentBuilder, RunItem};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_types::Section;
use serde_json::{Value, json};

/// Returns the result of something that must happen; a test that waits for it fails instead of hanging.
async fn within<T>(what: &str, happens: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), happens)
        .await
        .unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// Whether the request is of the agent of this name, by its instructions.
fn is(request: &Request, name: &str) -> bool {
    request.system.contains(&format!("You are {name}."))
}

/// The last message of a request.
fn last(request: &Request) -> &str {
    match request.messages.last() {
        Some(Message::User(text) | Message::Notice(text) | Message::Output { text, .. }) => text,
        _ => "",
    }
}

fn to(recipient: &str, message: &str) -> Value {
    json!({"recipient": recipient, "message": message})
}

fn write(recipient: &str, message: &str) -> Script {
    Script::call("send_message", to(recipient, message))
}

/// An agent whose model does not read the time, so that transcripts consist of what was said and done.
fn builder(name: impl Into<String>) -> AgentBuilder {
    Agent::builder(name).configure(|kind| kind.context.sections.retain(|section| *section != Section::Time))
}

fn agent(name: &str) -> Agent {
    builder(name).instructions(format!("You are {name}.")).build().unwrap()
}

/// Ceo, Developer and Reviewer: each delegates its message to the next; the last answers.
fn chain() -> (AgencyBuilder, Vec<Agent>) {
    let agents: Vec<Agent> = ["Ceo", "Developer", "Reviewer"].map(agent).into();
    let flows = [(&agents[0], &agents[1]), (&agents[1], &agents[2])];
    (Agency::new([&agents[0]], flows), agents)
}

/// The model of [`chain`].
fn hands_on(request: &Request) -> Script {
    match (request.messages.last(), is(request, "Ceo"), is(request, "Developer")) {
        (Some(Message::User(text)), true, _) => write("Developer", text),
        (Some(Message::User(text)), _, true) => write("Reviewer", text),
        _ => Script::text(format!("<{}>", last(request))),
    }
}

fn scripted(decide: impl Fn(&Request) -> Script + Send + Sync + 'static) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::deciding(move |request| Some(Ok(decide(request)))))
}

/// Items in one line each.
fn lines<'a>(items: impl IntoIterator<Item = &'a RunItem>) -> Vec<String> {
    let line = |item: &RunItem| match item {
        RunItem::MessageInput(item) => format!("{} is told {}", item.origin.agent, item.text),
        RunItem::MessageOutput(item) => format!("{} says {}", item.origin.agent, item.text),
        RunItem::ToolCall(item) => {
            // The order of an object's keys is not guaranteed.
            let message = item.arguments["message"].as_str().unwrap_or_default();
            format!("{} calls {} {message}", item.origin.agent, item.tool)
        }
        RunItem::ToolCallOutput(item) => {
            let failed = if item.is_error { "!" } else { "" };
            format!("{} gets{failed} {}", item.origin.agent, item.output)
        }
        RunItem::Notice(item) => {
            let reason = item.reason.map(|reason| format!(" {reason}")).unwrap_or_default();
            format!("{} notice {}{reason}", item.origin.agent, item.code)
        }
    };
    items.into_iter().map(line).collect()
}
