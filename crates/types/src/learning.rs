//! A learning: something an agent wants to know in every later conversation.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Columns, EntityKind, LearningId, Owner, Record, Time, status::words};

/// Something an agent wants to know in every later conversation, such as a preference of its user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learning {
    /// Its id.
    pub id: LearningId,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree it belongs to.
    pub root: AgentId,
    /// The agent that learned it; no other agent reads it.
    pub agent: AgentId,
    /// One or two sentences.
    pub text: String,
    /// Whether it still holds.
    pub status: LearningStatus,
    /// When it was saved.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

impl Learning {
    /// The short name by which its agent refers to it: the end of its id.
    #[must_use]
    pub fn handle(&self) -> String {
        Self::handle_of(self.id)
    }

    /// The short name of the learning with this id.
    #[must_use]
    pub fn handle_of(id: LearningId) -> String {
        let id = id.to_string();
        id[id.len() - HANDLE..].to_owned()
    }
}

/// Characters of a short name.
const HANDLE: usize = 6;

words! {
    /// Whether a learning still holds.
    LearningStatus, "status of a learning" {
        /// The agent reads it.
        Kept => "kept",
        /// It is no longer true; the record stays.
        Retired => "retired",
    }
}

impl Record for Learning {
    const KIND: EntityKind = EntityKind::LEARNING;
    type Status = LearningStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: Some(self.text.clone()),
        }
    }
}
