//! The document of a task of a chat.

use entourage_api::schema;
use entourage_types::{AgentId, Status, Task, TaskId, TaskResult, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::TreeIndex;

/// The error of a task that was dropped.
const DROPPED: &str = "the work that this task was for was cancelled";

/// A task of a sub-agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatTask)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatTaskView {
    /// Its id.
    #[schema(value_type = schema::TaskId)]
    id: TaskId,
    /// The chat it belongs to.
    #[schema(value_type = schema::ChatId)]
    chat_id: AgentId,
    /// Always `agent`: there are no other tasks.
    #[serde(rename = "type")]
    sort: &'static str,
    /// `agent:` and the role of the sub-agent that works on it.
    #[schema(example = "agent:researcher")]
    name: String,
    /// The sub-agent that works on it.
    #[schema(value_type = schema::SubAgentId)]
    sub_agent_id: AgentId,
    /// What is to be done: the sub-agent's first user message.
    instruction: String,
    /// Its status.
    status: TaskStatus,
    /// Its result, with `success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// Why it failed, with `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// When it was assigned.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskStatus {
    /// Its sub-agent has not begun.
    Pending,
    /// Its sub-agent is at work.
    Running,
    /// Its sub-agent, or one below it, waits for the user.
    Waiting,
    /// It is done.
    Success,
    /// It failed, or was dropped.
    Failed,
}

impl ChatTaskView {
    /// The document of a task of this tree.
    pub(crate) fn of(task: Task, tree: &TreeIndex) -> Self {
        let status = status(&task, tree);
        Self::then(task, status)
    }

    /// The document of a task with the status that it had then.
    pub(crate) fn then(task: Task, status: TaskStatus) -> Self {
        let (result, error) = match task.result {
            Some(TaskResult::Text(text)) => (Some(text), None),
            Some(TaskResult::Error(text)) => (None, Some(text)),
            None if task.status == Status::Cancelled => (None, Some(DROPPED.to_owned())),
            None => (None, None),
        };
        Self {
            id: task.id,
            chat_id: task.root,
            sort: "agent",
            name: format!("agent:{}", task.kind),
            sub_agent_id: task.to,
            instruction: task.instruction,
            status,
            result,
            error,
            created_at: task.created,
            updated_at: task.updated,
        }
    }
}

fn status(task: &Task, tree: &TreeIndex) -> TaskStatus {
    match task.status {
        Status::Succeeded => TaskStatus::Success,
        Status::Failed | Status::Cancelled => TaskStatus::Failed,
        _ if tree.asks(task.to) => TaskStatus::Waiting,
        _ if tree.get(task.to).is_some_and(|worker| worker.status == Status::Idle) => TaskStatus::Pending,
        _ => TaskStatus::Running,
    }
}
