//! A task.

use entourage_types::{self as types, AgentId, CallId, OnEnd, Owner, PostId, RunId, Status, TaskId, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// An assignment from one agent to another, with a result to come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// Its id.
    #[schema(value_type = schema::TaskId)]
    pub id: TaskId,
    /// The owner of both agents.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// Their tree, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent that assigned it.
    #[schema(value_type = schema::AgentId)]
    pub from: AgentId,
    /// The agent that works on it.
    #[schema(value_type = schema::AgentId)]
    pub to: AgentId,
    /// The call that assigned it.
    #[schema(value_type = schema::CallId)]
    pub call: CallId,
    /// What its end does: `answer` the call, `wake` the assigner, `join` the results of a group, or nothing (`quiet`).
    #[schema(value_type = schema::OnEnd)]
    pub on_end: OnEnd,
    /// The tasks that are joined together, by the call that assigned the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CallId>)]
    pub group: Option<CallId>,
    /// The kind of the agent that works on it.
    pub kind: String,
    /// It in a few words; empty for a task of an earlier release.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub title: String,
    /// What is to be done.
    pub instruction: String,
    /// The name of the trigger that set the assigner to work, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<String>,
    /// Its status.
    #[schema(value_type = schema::Status)]
    pub status: Status,
    /// Its result, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<TaskResult>,
    /// The post that assigned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PostId>)]
    pub post: Option<PostId>,
    /// The run that worked on it, once that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::RunId>)]
    pub run: Option<RunId>,
    /// When it was assigned.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskResult {
    /// The agent's final text.
    Text(String),
    /// Why there is none.
    Error(String),
}

impl From<types::Task> for Task {
    fn from(task: types::Task) -> Self {
        let types::Task {
            id,
            owner,
            root,
            from,
            to,
            call,
            on_end,
            group,
            kind,
            title,
            instruction,
            origin,
            status,
            result,
            post,
            run,
            created,
            updated,
            reactivated: _,
        } = task;
        let result = result.map(|result| match result {
            types::TaskResult::Text(text) => TaskResult::Text(text),
            types::TaskResult::Error(text) => TaskResult::Error(text),
        });
        Self {
            id,
            owner,
            root,
            from,
            to,
            call,
            on_end,
            group,
            kind,
            title,
            instruction,
            origin,
            status,
            result,
            post,
            run,
            created,
            updated,
        }
    }
}

/// Which tasks to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListTasks {
    /// Only tasks of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    pub root: Option<AgentId>,
    /// Only tasks in this status.
    #[param(value_type = Option<schema::Status>)]
    pub status: Option<Status>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
