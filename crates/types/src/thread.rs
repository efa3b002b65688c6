//! Threads that a thread store keeps as well.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Columns, EntityKind, Owner, Record, Time, status::words};

/// The key of a thread, the same in every database that has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadKey {
    /// The user that owns it.
    pub owner: Owner,
    /// The chat, by the name that the person gave it.
    pub chat: String,
    /// The kind that receives the messages.
    pub recipient: String,
    /// Who sends them: a kind, `user`, the name that the person took, or the id of an agent that
    /// was created for one piece of work.
    pub sender: String,
}

/// A thread that a thread store keeps as well: its agent and its key there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptThread {
    /// Its agent.
    pub agent: AgentId,
    /// The top of its tree.
    pub root: AgentId,
    /// Its key.
    pub key: ThreadKey,
    /// Since when the thread store keeps it.
    pub since: Time,
}

words! {
    /// The status of a kept thread: always the same.
    KeptThreadStatus, "status of a kept thread" {
        /// The thread store keeps it.
        Kept => "kept",
    }
}

impl Record for KeptThread {
    const KIND: EntityKind = EntityKind::THREAD;
    type Status = KeptThreadStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.agent.to_string(),
            owner: self.key.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: KeptThreadStatus::Kept.as_str(),
            created: self.since,
            updated: self.since,
            name: None,
            text: None,
        }
    }
}

/// Items of a thread that the thread store has yet to save: those that joined the transcript in one
/// commit. The record belongs to no tree, and is deleted once they are saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingSave {
    /// The thread's agent.
    pub agent: AgentId,
    /// The user that owns it.
    pub owner: Owner,
    /// The number of the first item of the commit: part of the record's key.
    pub first: u64,
    /// The number of the first of its items that is not yet saved.
    pub from: u64,
    /// When they joined the transcript.
    pub at: Time,
}

impl PendingSave {
    /// Its key.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.agent, self.first)
    }
}

words! {
    /// The status of a pending save: always the same.
    PendingSaveStatus, "status of a pending save" {
        /// The thread store has yet to save its items.
        Pending => "pending_save",
    }
}

impl Record for PendingSave {
    const KIND: EntityKind = EntityKind::PENDING_SAVE;
    type Status = PendingSaveStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id(),
            owner: self.owner.clone(),
            root: None,
            parent: Some(self.agent.into()),
            status: PendingSaveStatus::Pending.as_str(),
            created: self.at,
            updated: self.at,
            name: None,
            text: None,
        }
    }
}
