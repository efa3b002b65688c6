//! The one shape in which the records of the applications are stored.

use serde::{Serialize, de::DeserializeOwned};

use crate::{AgentId, EventBody, Owner, Time, status::words};

words! {
    /// The noun that a stored entity is.
    EntityKind, "kind of entity" {
        /// A task.
        Task => "task",
        /// A question.
        Question => "question",
        /// A standing approval.
        Grant => "grant",
        /// An intervention by a person.
        Intervention => "intervention",
        /// A note.
        Note => "note",
        /// A learning.
        Learning => "learning",
        /// A closed session.
        Session => "session",
        /// The recorded answer to a request that carried an idempotency key.
        Request => "request",
        /// A version of a kind with which a run has started.
        Kind => "kind",
        /// The last run of a job of the engine's maintenance.
        JobRun => "job_run",
        /// An event to be delivered to a receiver outside the engine.
        Delivery => "delivery",
        /// A chat: a name, and the tree it refers to.
        Chat => "chat",
        /// A thread that a thread store keeps as well.
        Thread => "thread",
        /// Items of such a thread that the thread store has yet to save.
        PendingSave => "pending_save",
    }
}

/// A stored record: the columns by which it is found, and its body as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// Which noun it is; together with `id`, its key.
    pub kind: EntityKind,
    /// Its id, as text.
    pub id: String,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree it belongs to.
    pub root: Option<AgentId>,
    /// The agent it belongs to.
    pub parent: Option<AgentId>,
    /// Its status.
    pub status: String,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
    /// The text that full-text search indexes.
    pub text: Option<String>,
    /// The record itself, as JSON.
    pub body: String,
}

/// The event that a record's change emits.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordEvent {
    /// The root of the tree that it belongs to.
    pub root: AgentId,
    /// The agent that it is about.
    pub agent: AgentId,
    /// What it reports.
    pub body: EventBody,
}

/// A noun that is stored as an [`Entity`].
pub trait Record: Serialize + DeserializeOwned {
    /// The noun.
    const KIND: EntityKind;

    /// The stored form.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    fn entity(&self) -> serde_json::Result<Entity>;

    /// The event that reports a change of the record to followers of a tree. None where none is emitted.
    fn event(&self) -> Option<RecordEvent> {
        None
    }

    /// Reads the record from its stored form.
    ///
    /// # Errors
    /// If the body is not of this noun.
    fn from_entity(entity: &Entity) -> serde_json::Result<Self> {
        serde_json::from_str(&entity.body)
    }
}
