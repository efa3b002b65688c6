//! The document of a task: the assignment and the agent that works on it, as one.

use entourage_api::schema;
use entourage_types::{AgentId, Run, Status, StopReason, Task, TaskId, TaskResult, Time, WaitingOn};
use serde::Serialize;
use utoipa::ToSchema;

use super::Stopped;

/// A task that a goal's agent, or the user agent, created.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = AgentTask)]
pub(crate) struct AgentTaskView {
    /// Its id.
    #[schema(value_type = schema::TaskId)]
    id: TaskId,
    /// The goal; null for a task of the user agent.
    #[schema(value_type = Option<schema::AgentId>)]
    goal_id: Option<AgentId>,
    /// It in a few words.
    title: String,
    /// What is to be done.
    instructions: String,
    /// How far it is.
    status: TaskState,
    /// What it came to, once it has.
    result: Option<String>,
    /// Why its agent stopped, once it has: `completed` if by itself, the limit that it met (also `circles`, if it went
    /// round in circles), or `stalled`, if nothing of it changed for so long that it was given up.
    #[schema(value_type = Option<String>)]
    stop_reason: Option<Stopped>,
    /// Where it comes from.
    context_data: ContextData,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

/// Where a task comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TaskContextData)]
struct ContextData {
    /// The trigger that set the agent to work that created it; it changes nothing about the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin_type: Option<String>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AgentTaskStatus)]
#[serde(rename_all = "snake_case")]
enum TaskState {
    /// It is worked on.
    Active,
    /// It has ended.
    Completed,
    /// It waits for another attempt after a failure.
    Paused,
    /// It was given up: every attempt failed, or it was cancelled.
    Cancelled,
}

impl AgentTaskView {
    /// The document of a task, with what its agent waits for, and the run that worked on it once that has ended.
    pub(crate) fn of(
        task: Task,
        goal: Option<AgentId>,
        waiting_on: Option<WaitingOn>,
        run: Option<&Run>,
    ) -> Self {
        let status = match task.status {
            Status::Succeeded => TaskState::Completed,
            Status::Failed | Status::Cancelled => TaskState::Cancelled,
            _ if waiting_on == Some(WaitingOn::Retry) => TaskState::Paused,
            _ => TaskState::Active,
        };
        let (stop_reason, result) = match (run.and_then(|run| run.stop_reason), task.result) {
            // What its assigner was answered is no result.
            (reason @ Some(StopReason::Stale), _) => (reason, None),
            (reason, Some(TaskResult::Text(text))) => (reason, Some(text)),
            (reason, Some(TaskResult::Error(_)) | None) => (reason, None),
        };
        Self {
            id: task.id,
            goal_id: goal,
            title: task.title,
            instructions: task.instruction,
            status,
            result,
            stop_reason: stop_reason.map(Stopped),
            context_data: ContextData { origin_type: task.origin },
            created_at: task.created,
            updated_at: task.updated,
        }
    }
}
