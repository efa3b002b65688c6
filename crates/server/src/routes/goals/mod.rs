//! The goals API, which shows the engine as goals, their tasks and one agent of the user (S4). Each handler translates a
//! request, calls methods of the caller's client, and translates the results back.

mod agent_histories;
mod agent_tasks;
mod inspect;
mod manage;
mod me;
mod memory;
mod orchestrate;
mod stream;
mod thread_messages;
mod user_agent;

use axum::Json;
use entourage_engine::Client;
use entourage_types::{AgentId, Goal, Task, TaskId};

use super::{
    Routes,
    failures::{Conflict, Failures, Gone, Reserved},
};
use crate::{
    Problem,
    views::goals::{Agentable, AgentableType},
};

/// What every handler returns.
type Answer<T> = Result<Json<T>, Problem>;

pub(crate) const ROUTES: &[Routes] = &[
    manage::routes,
    thread_messages::routes,
    stream::routes,
    memory::routes,
    agent_histories::routes,
    agent_tasks::routes,
    user_agent::routes,
    me::routes,
    inspect::routes,
    orchestrate::routes,
];

/// Returns a goal of the caller, and what its thread belongs to.
async fn goal(client: &Client, id: AgentId) -> Result<(Goal, Agentable), Problem> {
    let goal = client.goal(id).await?;
    let of = Agentable { sort: AgentableType::Goal, id: id.to_string(), agent: id, root: id };
    Ok((goal, of))
}

/// Returns a task of the caller, and what its thread belongs to.
async fn agent_task(client: &Client, id: TaskId) -> Result<(Task, Agentable), Problem> {
    let task = client.task(id).await?;
    let of =
        Agentable { sort: AgentableType::AgentTask, id: id.to_string(), agent: task.to, root: task.root };
    Ok((task, of))
}

/// Returns what the thread of the caller's user agent belongs to.
async fn user_agent(client: &Client) -> Result<Agentable, Problem> {
    let agent = client.user_agent().await?;
    let id = agent.id;
    Ok(Agentable { sort: AgentableType::UserAgent, id: id.to_string(), agent: id, root: agent.root })
}
