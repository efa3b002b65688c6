//! A note: something an agent wrote down for later.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Columns, EntityKind, NoteId, Owner, Record, Time, status::words};

/// Something an agent wrote down for later; full-text search finds it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Its id.
    pub id: NoteId,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree it belongs to.
    pub root: AgentId,
    /// The agent that wrote it.
    pub agent: AgentId,
    /// A short line.
    pub title: String,
    /// The text.
    pub content: String,
    /// When it was written.
    pub created: Time,
}

words! {
    /// The status of a note: always the same.
    NoteStatus, "status of a note" {
        /// Search finds it.
        Kept => "kept",
    }
}

impl Record for Note {
    const KIND: EntityKind = EntityKind::NOTE;
    type Status = NoteStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: NoteStatus::Kept.as_str(),
            created: self.created,
            updated: self.created,
            name: None,
            text: Some(format!("{}\n{}", self.title, self.content)),
        }
    }
}
