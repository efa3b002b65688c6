//! Chats: names under which people talk with agents.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Entity, EntityKind, Owner, Record, Time};

/// A chat: the name that a person gave it, and the tree in which its threads are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// What it is found by: derived from owner and name, the same for every chat of this name.
    pub id: String,
    /// Whose it is.
    pub owner: Owner,
    /// Its name.
    pub name: String,
    /// The tree of its threads. A chat that takes the name of a deleted one has another.
    pub root: AgentId,
    /// Whether it was deleted; the next thing said under its name begins a new one.
    pub deleted: bool,
    /// When it was made.
    pub created: Time,
    /// When it was made, or deleted.
    pub updated: Time,
}

impl Chat {
    /// The status words of its record.
    pub const OPEN: &'static str = "open";
    /// Of one that was deleted.
    pub const DELETED: &'static str = "deleted";

    /// The status word of its record.
    #[must_use]
    pub fn status(&self) -> &'static str {
        if self.deleted { Self::DELETED } else { Self::OPEN }
    }
}

impl Record for Chat {
    const KIND: EntityKind = EntityKind::Chat;

    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(Entity {
            kind: Self::KIND,
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: None,
            status: self.status().to_owned(),
            created: self.created,
            updated: self.updated,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}
