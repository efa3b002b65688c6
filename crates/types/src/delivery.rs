//! What a receiver outside the engine is to be told. It waits on disk until it has been.

use serde::{Deserialize, Serialize};

use crate::{
    DeliveryId, Entity, EntityKind, Owner, Question, QuestionStatus, Record, Status, Task, Time,
    status::words,
};

/// One thing that one receiver is told, at least once, always under the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its id: what a receiver knows by that it was told before.
    pub id: DeliveryId,
    /// Whose task or question it is about.
    pub owner: Owner,
    /// The receiver's name in the settings.
    pub receiver: String,
    /// What happened.
    pub occasion: Occasion,
    /// What it happened to, as of then.
    pub subject: Subject,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// How many attempts there were.
    pub attempts: u32,
    /// When the next attempt is due; of one that is over, when the last one was.
    pub due: Time,
    /// Why the last attempt failed, if it did. Never holds what is secret.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// When it happened.
    pub created: Time,
    /// When this last changed.
    pub updated: Time,
}

/// What something happened to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A task.
    Task(Box<Task>),
    /// A question.
    Question(Box<Question>),
}

words! {
    /// What can happen that receivers are told of.
    Occasion, "event that receivers are told of" {
        /// A task was assigned.
        TaskCreated => "task.created",
        /// A task that had ended is taken up again.
        TaskReactivated => "task.reactivated",
        /// The agent that works on a task asks a person.
        TaskWaiting => "task.waiting",
        /// A task has its result.
        TaskCompleted => "task.completed",
        /// A task has failed.
        TaskFailed => "task.failed",
        /// A task was dropped.
        TaskCancelled => "task.cancelled",
        /// An agent asks a person.
        QuestionOpened => "question.opened",
        /// A question was answered, declined, or has expired.
        QuestionClosed => "question.closed",
    }
}

words! {
    /// Where a delivery stands.
    DeliveryStatus, "status of a delivery" {
        /// It is tried until it has arrived.
        Pending => "pending",
        /// The receiver has it.
        Delivered => "delivered",
        /// It failed for so long that it is not tried any more.
        GivenUp => "given_up",
    }
}

impl Occasion {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::TaskCreated,
        Self::TaskReactivated,
        Self::TaskWaiting,
        Self::TaskCompleted,
        Self::TaskFailed,
        Self::TaskCancelled,
        Self::QuestionOpened,
        Self::QuestionClosed,
    ];

    /// What a task that is written like this tells of.
    #[must_use]
    pub fn of_task(task: &Task) -> Option<Self> {
        match task.status {
            Status::Queued if task.updated > task.created => Some(Self::TaskReactivated),
            Status::Queued => Some(Self::TaskCreated),
            Status::Succeeded => Some(Self::TaskCompleted),
            Status::Failed => Some(Self::TaskFailed),
            Status::Cancelled => Some(Self::TaskCancelled),
            Status::Idle | Status::Running | Status::Waiting => None,
        }
    }

    /// What a question that is written like this tells of. A task waits where its agent asks.
    pub fn of_question(question: &Question) -> impl Iterator<Item = Self> {
        let opened = question.status == QuestionStatus::Open;
        let first = if opened { Self::QuestionOpened } else { Self::QuestionClosed };
        let second = question.task.filter(|_| opened).map(|_| Self::TaskWaiting);
        std::iter::once(first).chain(second)
    }
}

impl Subject {
    /// Whose it is.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        match self {
            Self::Task(task) => &task.owner,
            Self::Question(question) => &question.owner,
        }
    }
}

impl Record for Delivery {
    const KIND: EntityKind = EntityKind::Delivery;

    /// It belongs to no tree: a tree that is forgotten takes nothing away that is still to be told.
    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(Entity {
            kind: Self::KIND,
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: None,
            parent: None,
            status: self.status.as_str().to_owned(),
            created: self.created,
            updated: self.updated,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}
