//! A task, as the API shows it.

use entourage_types::{AgentId, CallId, Owner, PostId, RunId, Status, Task, TaskId, TaskResult, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// An assignment from one agent to another, with a result to come.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub(crate) struct TaskView {
    /// Its id.
    #[schema(value_type = schema::TaskId)]
    id: TaskId,
    /// The owner of both agents.
    #[schema(value_type = String)]
    owner: Owner,
    /// Their tree, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// The agent that assigned it.
    #[schema(value_type = schema::AgentId)]
    from: AgentId,
    /// The agent that works on it.
    #[schema(value_type = schema::AgentId)]
    to: AgentId,
    /// The call that assigned it.
    #[schema(value_type = schema::CallId)]
    call: CallId,
    /// Whether that call stays open until the result is in.
    wait: bool,
    /// The kind of the agent that works on it.
    kind: String,
    /// What is to be done.
    instruction: String,
    /// Its status.
    #[schema(value_type = schema::Status)]
    status: Status,
    /// Its result, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<TaskResultView>,
    /// The post that assigned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PostId>)]
    post: Option<PostId>,
    /// The run that worked on it, once that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::RunId>)]
    run: Option<RunId>,
    /// When it was assigned.
    #[schema(value_type = schema::Time)]
    created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated: Time,
}

/// The result of a task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TaskResult)]
#[serde(rename_all = "snake_case")]
enum TaskResultView {
    /// The agent's final text.
    Text(String),
    /// Why there is none.
    Error(String),
}

impl From<Task> for TaskView {
    fn from(task: Task) -> Self {
        let Task {
            id,
            owner,
            root,
            from,
            to,
            call,
            wait,
            kind,
            instruction,
            status,
            result,
            post,
            run,
            created,
            updated,
            reactivated: _,
        } = task;
        let result = result.map(|result| match result {
            TaskResult::Text(text) => TaskResultView::Text(text),
            TaskResult::Error(text) => TaskResultView::Error(text),
        });
        Self {
            id,
            owner,
            root,
            from,
            to,
            call,
            wait,
            kind,
            instruction,
            status,
            result,
            post,
            run,
            created,
            updated,
        }
    }
}
