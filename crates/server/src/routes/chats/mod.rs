//! The chats API, which shows the engine as an orchestrator with sub-agents: chats, their tasks, sub-agents
//! and streams. Each handler translates a request, calls methods of the caller's client, and translates the
//! results back.

mod events;
mod manage;
mod messages;
mod sub_agents;
mod tasks;
mod tool_calls;

use axum::Json;
use entourage_engine::Client;
use entourage_types::{Agent, AgentId};

use super::{
    Routes,
    failures::{Conflict, Failures, Gone},
};
use crate::Problem;

/// The kind of agent that leads a chat.
const ORCHESTRATOR: &str = "orchestrator";

/// What every handler returns.
type Answer<T> = Result<Json<T>, Problem>;

pub(crate) const ROUTES: &[Routes] = &[
    manage::routes,
    messages::routes,
    events::routes,
    tasks::routes,
    sub_agents::routes,
    tool_calls::routes,
];

/// Returns the orchestrator of a chat.
async fn chat(client: &Client, id: AgentId) -> Result<Agent, Problem> {
    let agent = client.agent(id).await?;
    if agent.parent.is_some() || agent.kind != ORCHESTRATOR {
        return Err(Problem::not_found(format!("there is no chat `{id}`")));
    }
    Ok(agent)
}
