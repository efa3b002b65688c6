//! The document of a sub-agent.

use entourage_api::schema;
use entourage_types::{Agent, AgentId, Status, Task, TaskId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::TreeIndex;

/// An agent below the orchestrator.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubAgent)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubAgentView {
    /// Its id.
    #[schema(value_type = schema::SubAgentId)]
    id: AgentId,
    /// The chat it belongs to.
    #[schema(value_type = schema::ChatId)]
    chat_id: AgentId,
    /// The agent that created it: the orchestrator, or another sub-agent.
    #[schema(value_type = schema::AgentId)]
    parent_id: AgentId,
    /// Its role, which is the name of its kind.
    #[schema(example = "researcher")]
    role: String,
    /// Its task; the latest, if it has had several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    task_id: Option<TaskId>,
    /// Its status.
    status: SubAgentStatus,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last did something.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

/// The status of a sub-agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SubAgentStatus {
    /// It is at work, or about to be.
    Active,
    /// It has given its answer.
    Completed,
    /// It, or one below it, waits for the user.
    WaitingForUser,
    /// It ended with an error, or was deleted.
    Failed,
}

impl SubAgentView {
    /// The document of an agent of this tree.
    pub(crate) fn of(agent: &Agent, tree: &TreeIndex) -> Self {
        let task = tree.task_of(agent.id);
        Self {
            id: agent.id,
            chat_id: agent.root,
            parent_id: agent.parent.unwrap_or(agent.root),
            role: agent.kind.clone(),
            task_id: task.map(|task| task.id),
            status: status(agent, task, tree),
            created_at: agent.created,
            updated_at: agent.updated,
        }
    }
}

fn status(agent: &Agent, task: Option<&Task>, tree: &TreeIndex) -> SubAgentStatus {
    let is_open = task.is_some_and(|task| !task.status.is_terminal());
    match agent.status {
        Status::Cancelled => SubAgentStatus::Failed,
        _ if tree.asks(agent.id) => SubAgentStatus::WaitingForUser,
        Status::Succeeded if !is_open => SubAgentStatus::Completed,
        Status::Failed if !is_open => SubAgentStatus::Failed,
        _ => SubAgentStatus::Active,
    }
}
