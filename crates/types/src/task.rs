//! An assignment from one agent to another, which ends with a result.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, CallId, Columns, EntityKind, EventBody, NewEvent, Owner, PostId, Record, RunId, Status, TaskId,
    Time, status::words,
};

/// An assignment from one agent to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The owner of both agents.
    pub owner: Owner,
    /// The top of their tree.
    pub root: AgentId,
    /// The agent that assigned it.
    pub from: AgentId,
    /// The agent that works on it.
    pub to: AgentId,
    /// The call that assigned it.
    pub call: CallId,
    /// What its end does.
    pub on_end: OnEnd,
    /// The tasks that are joined together, by the call that assigned the first of them; none unless its end is joined.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<CallId>,
    /// The kind of the agent that works on it.
    pub kind: String,
    /// It in a few words; empty for a task of an earlier release.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub title: String,
    /// What the agent is to do.
    pub instruction: String,
    /// The name of the trigger that set the assigner to work. It changes nothing about the task (S4-R095, R096).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<String>,
    /// Its status.
    pub status: Status,
    /// Its result, once there is one: the assigner reads it. None if the assigner cancelled it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result: Option<TaskResult>,
    /// The post that assigned it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub post: Option<PostId>,
    /// The run that worked on it, once that has ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<RunId>,
    /// How often more was said about it after it had ended.
    #[serde(default)]
    pub reactivated: u32,
    /// When it was assigned.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

words! {
    /// What the end of a task does.
    OnEnd, "end of a task" {
        /// The result is the output of the call that assigned the task, which waits for it.
        Answer => "answer",
        /// The result arrives as a message, which wakes the assigner.
        Wake => "wake",
        /// The result is withheld until the assigner's program joins the group that the task belongs to. The
        /// assigner is woken once, when the last task of the group ends.
        Join => "join",
        /// The result is on record, and no agent is notified.
        Quiet => "quiet",
    }
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskResult {
    /// The agent's final text.
    Text(String),
    /// Why it has no text.
    Error(String),
}

impl Task {
    /// Whether the agent that assigned it waits for its end, or will.
    #[must_use]
    pub const fn is_awaited(&self) -> bool {
        matches!(self.on_end, OnEnd::Answer | OnEnd::Join)
    }

    /// Returns the task as it is when its agent takes it up again. The call that waited for it already has its output,
    /// and a group goes on without it: the result arrives as a message.
    #[must_use]
    pub fn again(self, at: Time) -> Self {
        let reactivated = self.reactivated + 1;
        let on_end = if self.on_end == OnEnd::Quiet { OnEnd::Quiet } else { OnEnd::Wake };
        Self { status: Status::Queued, on_end, group: None, result: None, reactivated, updated: at, ..self }
    }
}

impl Record for Task {
    const KIND: EntityKind = EntityKind::TASK;
    type Status = Status;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.from.into()),
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        Ok(Some(NewEvent {
            root: self.root,
            agent: self.to,
            body: EventBody::Task { task: Box::new(self.clone()) },
        }))
    }
}
