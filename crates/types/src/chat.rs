//! Chats: names under which people talk with agents.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Columns, EntityKind, Owner, Record, Time};

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

impl Chat {
    /// The status of the record of a chat that exists.
    pub const OPEN: &'static str = "open";
    /// The status of the record of a deleted chat.
    pub const DELETED: &'static str = "deleted";

    /// The status of its record.
    #[must_use]
    pub fn status(&self) -> &'static str {
        if self.deleted { Self::DELETED } else { Self::OPEN }
    }
}

impl Record for Chat {
    const KIND: EntityKind = EntityKind::CHAT;
    type Status = &'static str;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: None,
            status: self.status(),
            created: self.created,
            updated: self.updated,
            text: None,
        }
    }
}
