//! Threads that are kept elsewhere, too.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Entity, EntityKind, Owner, Record, Time};

/// What a thread is known by, in whichever database it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadKey {
    /// Whose it is.
    pub owner: Owner,
    /// The chat, by the name that the person gave it.
    pub chat: String,
    /// The kind that is spoken to.
    pub recipient: String,
    /// Who speaks: a kind, `user`, the name that the person took, or the id of an agent that was made
    /// for one piece of work.
    pub sender: String,
}

/// A thread that is kept elsewhere, too: what it is known by there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptThread {
    /// Its agent.
    pub agent: AgentId,
    /// The top of its tree.
    pub root: AgentId,
    /// What it is known by.
    pub key: ThreadKey,
    /// Since when it is kept there.
    pub since: Time,
}

impl Record for KeptThread {
    const KIND: EntityKind = EntityKind::Thread;

    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(Entity {
            kind: Self::KIND,
            id: self.agent.to_string(),
            owner: self.key.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent),
            status: "kept".to_owned(),
            created: self.since,
            updated: self.since,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}

/// That items of a thread are still to be saved elsewhere: those that joined it in one commit. It belongs
/// to no tree, and goes once they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unsaved {
    /// The thread's agent.
    pub agent: AgentId,
    /// Whose it is.
    pub owner: Owner,
    /// The number of the first item of the commit: what it is found by.
    pub first: u64,
    /// The number of the first of them that is not saved.
    pub from: u64,
    /// When they joined the transcript.
    pub at: Time,
}

impl Unsaved {
    /// What it is found by.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.agent, self.first)
    }
}

impl Record for Unsaved {
    const KIND: EntityKind = EntityKind::Unsaved;

    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(Entity {
            kind: Self::KIND,
            id: self.id(),
            owner: self.owner.clone(),
            root: None,
            parent: Some(self.agent),
            status: "unsaved".to_owned(),
            created: self.at,
            updated: self.at,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}
