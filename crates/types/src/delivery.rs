//! Events for receivers outside the engine. They wait on disk until the receiver has accepted them.

use serde::{Deserialize, Serialize};

use crate::{
    Act, Columns, DeliveryId, EntityKind, Owner, Question, QuestionStatus, Record, Status, Task, Time,
    status::words,
};

/// One event for one receiver, delivered at least once and always under the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its id, by which a receiver recognises a repeated delivery.
    pub id: DeliveryId,
    /// The owner of what it reports.
    pub owner: Owner,
    /// The receiver's name.
    pub receiver: String,
    /// What happened.
    pub occasion: Occasion,
    /// What it happened to, as of then.
    pub subject: Subject,
    /// Its status.
    pub status: DeliveryStatus,
    /// How many attempts were made.
    pub attempts: u32,
    /// How many of them were made before a person last had it retried: its delays began anew then.
    #[serde(default)]
    pub attempts_before: u32,
    /// When the last attempt ended; none if there was none, or it is from before this was kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tried: Option<Time>,
    /// When the next attempt is due; when the last one was made, if no more follow.
    pub due: Time,
    /// Why the last attempt failed, if it did. Contains no secrets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// When the event happened.
    pub created: Time,
    /// When the delivery last changed.
    pub updated: Time,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A task.
    Task(Box<Task>),
    /// A question.
    Question(Box<Question>),
    /// What a message to the document agent came to.
    Act(Box<Act>),
}

words! {
    /// The events that receivers can subscribe to.
    Occasion, "event that receivers are told of" {
        /// A task was assigned.
        TaskCreated => "task.created",
        /// An ended task was taken up again.
        TaskReactivated => "task.reactivated",
        /// The agent that works on a task asks a person.
        TaskWaiting => "task.waiting",
        /// A task has its result.
        TaskCompleted => "task.completed",
        /// A task has failed.
        TaskFailed => "task.failed",
        /// A task was cancelled.
        TaskCancelled => "task.cancelled",
        /// An agent asks a person.
        QuestionOpened => "question.opened",
        /// A question was answered, declined, or has expired.
        QuestionClosed => "question.closed",
        /// A message to the document agent was acted upon (S5-R102).
        AgentActionCompleted => "agent_action.completed",
    }
}

words! {
    /// The status of a delivery.
    DeliveryStatus, "status of a delivery" {
        /// The engine attempts it until the receiver has accepted it.
        Pending => "pending",
        /// The receiver has accepted it.
        Delivered => "delivered",
        /// It failed for so long that the engine no longer attempts it.
        GivenUp => "given_up",
    }
}

impl Occasion {
    /// All events.
    pub const ALL: [Self; 9] = [
        Self::TaskCreated,
        Self::TaskReactivated,
        Self::TaskWaiting,
        Self::TaskCompleted,
        Self::TaskFailed,
        Self::TaskCancelled,
        Self::QuestionOpened,
        Self::QuestionClosed,
        Self::AgentActionCompleted,
    ];

    /// The event that a task in this state reports, if any.
    #[must_use]
    pub fn of_task(task: &Task) -> Option<Self> {
        match task.status {
            Status::Queued if task.reactivated > 0 => Some(Self::TaskReactivated),
            Status::Queued => Some(Self::TaskCreated),
            Status::Succeeded => Some(Self::TaskCompleted),
            Status::Failed => Some(Self::TaskFailed),
            Status::Cancelled => Some(Self::TaskCancelled),
            Status::Idle | Status::Running | Status::Waiting => None,
        }
    }

    /// The events that a question in this state reports. A task waits if its agent asks.
    pub fn of_question(question: &Question) -> impl Iterator<Item = Self> {
        let opened = question.status == QuestionStatus::Open;
        let first = if opened { Self::QuestionOpened } else { Self::QuestionClosed };
        let second = question.task.filter(|_| opened).map(|_| Self::TaskWaiting);
        std::iter::once(first).chain(second)
    }
}

impl Subject {
    /// Its owner.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        match self {
            Self::Task(task) => &task.owner,
            Self::Question(question) => &question.owner,
            Self::Act(act) => &act.owner,
        }
    }
}

impl Record for Delivery {
    const KIND: EntityKind = EntityKind::DELIVERY;
    type Status = DeliveryStatus;

    /// The record belongs to no tree, so that deleting a tree removes no pending delivery.
    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: None,
            parent: None,
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }
}
