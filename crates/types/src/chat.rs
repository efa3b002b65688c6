//! Chats: names under which people talk with agents.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Columns, EntityKind, Owner, Record, Time, status::words};

/// A chat: the name that a person gave it, and the tree of its threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// Its key, derived from owner and name: every chat of that owner with that name has the same
    /// one.
    pub id: String,
    /// The user that owns it.
    pub owner: Owner,
    /// Its name.
    pub name: String,
    /// The tree of its threads. A chat that reuses the name of a deleted one has another tree.
    pub root: AgentId,
    /// Whether it was deleted; the next message under its name begins a new chat.
    pub deleted: bool,
    /// When it was created.
    pub created: Time,
    /// When it was created or deleted.
    pub updated: Time,
}

words! {
    /// The status of a chat.
    ChatStatus, "status of a chat" {
        /// People can talk in it.
        Open => "open",
        /// It was deleted.
        Deleted => "deleted",
    }
}

impl Chat {
    /// The status of its record.
    #[must_use]
    pub const fn status(&self) -> ChatStatus {
        if self.deleted { ChatStatus::Deleted } else { ChatStatus::Open }
    }
}

impl Record for Chat {
    const KIND: EntityKind = EntityKind::CHAT;
    type Status = ChatStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: None,
            status: self.status().as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }
}
