//! A note, as the API shows it.

use entourage_types::{AgentId, Note, NoteId, Owner, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// Something an agent wrote down for later.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Note)]
pub(crate) struct NoteView {
    /// Its id.
    #[schema(value_type = schema::NoteId)]
    id: NoteId,
    /// Its owner.
    #[schema(value_type = String)]
    owner: Owner,
    /// The tree it belongs to, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// The agent that wrote it.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// A short line.
    title: String,
    /// The text.
    content: String,
    /// When it was written.
    #[schema(value_type = schema::Time)]
    created: Time,
}

impl From<Note> for NoteView {
    fn from(note: Note) -> Self {
        let Note { id, owner, root, agent, title, content, created } = note;
        Self { id, owner, root, agent, title, content, created }
    }
}
