//! An assignment from one agent to another, with a result to come.

use serde::{Deserialize, Serialize};

use crate::{AgentId, CallId, Entity, EntityKind, Owner, PostId, Record, RunId, Status, TaskId, Time};

/// An assignment from one agent to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The owner of both agents.
    pub owner: Owner,
    /// The top of their tree.
    pub root: AgentId,
    /// Who assigned it.
    pub from: AgentId,
    /// Who works on it.
    pub to: AgentId,
    /// The call that assigned it.
    pub call: CallId,
    /// Whether that call stays open until the result is in.
    pub wait: bool,
    /// The kind of the agent that works on it.
    pub kind: String,
    /// What is to be done.
    pub instruction: String,
    /// Where it stands.
    pub status: Status,
    /// What came of it, once something has: its assigner is given it to read. None of one that was dropped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result: Option<TaskResult>,
    /// The post that assigned it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub post: Option<PostId>,
    /// The run that worked on it, once that has ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<RunId>,
    /// When it was assigned.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskResult {
    /// The agent's final text.
    Text(String),
    /// Why there is none.
    Error(String),
}

impl Task {
    /// The task as it is when its agent takes it up again: the call that waited for it has its output.
    #[must_use]
    pub fn again(self, at: Time) -> Self {
        Self { status: Status::Queued, wait: false, result: None, updated: at, ..self }
    }
}

impl Record for Task {
    const KIND: EntityKind = EntityKind::Task;

    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(Entity {
            kind: Self::KIND,
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.from),
            status: self.status.as_str().to_owned(),
            created: self.created,
            updated: self.updated,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}
