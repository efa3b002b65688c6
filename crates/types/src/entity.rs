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
        /// The last integer id given under a name.
        Counter => "counter",
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
    /// How many times it was written. The store counts: what a write says here has no meaning.
    pub version: u64,
    /// The text that full-text search indexes.
    pub text: Option<String>,
    /// The record itself, as JSON.
    pub body: String,
}

/// The columns of a record, as in an [`Entity`].
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// Its id, as text.
    pub id: String,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree it belongs to.
    pub root: Option<AgentId>,
    /// The agent it belongs to.
    pub parent: Option<AgentId>,
    /// Its status.
    pub status: &'static str,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
    /// The text that full-text search indexes.
    pub text: Option<String>,
}

impl Columns {
    /// The stored form of a record with these columns.
    #[must_use]
    pub fn entity(self, kind: EntityKind, body: String) -> Entity {
        let Self { id, owner, root, parent, status, created, updated, text } = self;
        let (status, version) = (status.to_owned(), 1);
        Entity { kind, id, owner, root, parent, status, created, updated, version, text, body }
    }
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
    /// The statuses it can be in.
    type Status: Into<&'static str>;

    /// The columns by which it is found.
    fn columns(&self) -> Columns;

    /// The event that reports a change of the record to followers of a tree. None where none is emitted.
    fn event(&self) -> Option<RecordEvent> {
        None
    }

    /// The stored form.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(self.columns().entity(Self::KIND, serde_json::to_string(self)?))
    }

    /// Reads the record from its stored form.
    ///
    /// # Errors
    /// If the body is not of this noun.
    fn from_entity(entity: &Entity) -> serde_json::Result<Self> {
        serde_json::from_str(&entity.body)
    }
}
