//! A note.

use entourage_types::{self as types, AgentId, NoteId, Owner, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// Something an agent wrote down for later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Note {
    /// Its id.
    #[schema(value_type = schema::NoteId)]
    pub id: NoteId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The tree it belongs to, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent that wrote it.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// A short line.
    pub title: String,
    /// The text.
    pub content: String,
    /// When it was written.
    #[schema(value_type = schema::Time)]
    pub created: Time,
}

impl From<types::Note> for Note {
    fn from(note: types::Note) -> Self {
        let types::Note { id, owner, root, agent, title, content, created } = note;
        Self { id, owner, root, agent, title, content, created }
    }
}

/// Which notes to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListNotes {
    /// Only notes of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    pub root: Option<AgentId>,
    /// Only those with all of these words; the last one may be the beginning of a word.
    pub text: Option<String>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
