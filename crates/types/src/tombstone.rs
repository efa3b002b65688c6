//! What is left of an agent or a record that was forgotten while its tree lives on.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Columns, EntityKind, NewEvent, Owner, Parent, Record, Time, status::words};

/// The trace of an agent or a record that was forgotten inside a living tree. The events of the tree keep their
/// numbers and still name it, [without texts](crate::EventBody::without_texts); this says why there is nothing behind
/// the name. It goes with its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// What was forgotten.
    pub of: Parent,
    /// The user that owned it.
    pub owner: Owner,
    /// The tree that it belonged to.
    pub root: AgentId,
    /// The agent that was forgotten, or to which the record belonged.
    pub agent: AgentId,
    /// When it was forgotten.
    pub at: Time,
}

words! {
    /// The status of a tombstone: always the same.
    TombstoneStatus, "status of a tombstone" {
        /// What it stands for is gone.
        Forgotten => "forgotten",
    }
}

impl Record for Tombstone {
    const KIND: EntityKind = EntityKind::TOMBSTONE;
    type Status = TombstoneStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.of.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            // Not the parent of what was forgotten: that may be forgotten, too.
            parent: None,
            status: TombstoneStatus::Forgotten.as_str(),
            created: self.at,
            updated: self.at,
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        NewEvent::of(self, self.root, self.agent).map(Some)
    }
}
