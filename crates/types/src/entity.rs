//! The one shape that the applications' records share in storage.

use serde::{Serialize, de::DeserializeOwned};

use crate::{AgentId, Owner, Time, status::words};

words! {
    /// Which noun a stored entity is.
    EntityKind, "kind of entity" {
        /// A task.
        Task => "task",
        /// A question.
        Question => "question",
        /// A standing leave.
        Grant => "grant",
        /// What a person did to an agent.
        Intervention => "intervention",
        /// A note.
        Note => "note",
        /// A learning.
        Learning => "learning",
        /// A closed session.
        Session => "session",
        /// The recorded answer to a request that carried an idempotency key.
        Request => "request",
        /// A version of a kind that a run has started with.
        Kind => "kind",
        /// The last round of a job of the engine's upkeep.
        Round => "round",
        /// What a receiver outside the engine is to be told.
        Delivery => "delivery",
        /// A chat: a name, and the tree that it stands for.
        Chat => "chat",
        /// A thread that is kept elsewhere, too.
        Thread => "thread",
        /// That items of such a thread are still to be saved there.
        Unsaved => "unsaved",
    }
}

/// A stored record: columns to find it by, and its body as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// Which noun it is; with `id`, what it is found by.
    pub kind: EntityKind,
    /// Its id, as text.
    pub id: String,
    /// Whose it is.
    pub owner: Owner,
    /// The tree it belongs to.
    pub root: Option<AgentId>,
    /// The agent it belongs to.
    pub parent: Option<AgentId>,
    /// Its status word.
    pub status: String,
    /// When it was made.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
    /// What full-text search finds it by.
    pub text: Option<String>,
    /// The record itself, as JSON.
    pub body: String,
}

/// A noun that is stored as an [`Entity`].
pub trait Record: Serialize + DeserializeOwned {
    /// Which noun.
    const KIND: EntityKind;

    /// The stored form.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    fn entity(&self) -> serde_json::Result<Entity>;

    /// The record from its stored form.
    ///
    /// # Errors
    /// When the body is not of this noun.
    fn from_entity(entity: &Entity) -> serde_json::Result<Self> {
        serde_json::from_str(&entity.body)
    }
}
