//! What can be asked of a store. Absent conditions do not restrict.

use entourage_types::{AgentId, EntityKind, RunId, ShownStatus};

/// How many rows, and after which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The id of the last row already seen. One that is not there, or not the scope's, is refused with
    /// [`Error::NoRow`](crate::Error::NoRow).
    pub after: Option<String>,
    /// At most this many rows.
    pub limit: u32,
    /// Newest first.
    pub newest_first: bool,
    /// The page ends with the row by which its rows have this many bytes, so that it has at least
    /// one. Only the texts of rows count, and roughly.
    pub bytes: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { after: None, limit: 100, newest_first: false, bytes: usize::MAX }
    }
}

impl Page {
    /// Every row there is, oldest first: for what is bounded by itself, as a tree is.
    #[must_use]
    pub fn all() -> Self {
        Self { limit: u32::MAX, ..Self::default() }
    }
}

/// Which agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentQuery {
    /// Of this tree.
    pub root: Option<AgentId>,
    /// Made by this agent.
    pub parent: Option<AgentId>,
    /// Only agents without a parent.
    pub roots: bool,
    /// Of this kind.
    pub kind: Option<String>,
    /// Found by this key.
    pub key: Option<String>,
    /// Shown in this status.
    pub status: Option<ShownStatus>,
    /// With posts in the inbox.
    pub unread: bool,
    /// Without any wake-up, due or not.
    pub unwoken: bool,
    /// Which page.
    pub page: Page,
}

/// Which items of one transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemQuery {
    /// Whose transcript.
    pub agent: AgentId,
    /// Items with this number or above.
    pub from: u64,
    /// Items below this number; `limit` and `bytes` then leave the nearest ones to it, and not those
    /// nearest to `from`.
    pub before: Option<u64>,
    /// Written by this run.
    pub run: Option<RunId>,
    /// At most this many.
    pub limit: u32,
    /// No more once they have this many bytes, as in a [`Page`].
    pub bytes: usize,
}

impl ItemQuery {
    /// The items of a transcript, so many from this number on.
    #[must_use]
    pub fn of(agent: AgentId, from: u64, limit: u32) -> Self {
        Self { agent, from, before: None, run: None, limit, bytes: usize::MAX }
    }
}

/// Which runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunQuery {
    /// This one.
    pub id: Option<RunId>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Of the agents of this tree.
    pub root: Option<AgentId>,
    /// That have not ended.
    pub open: bool,
    /// Which page.
    pub page: Page,
}

/// How many runs of one kind and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCount {
    /// The kind of their agents.
    pub kind: String,
    /// The version of it that they started with.
    pub version: String,
    /// How many there are, at least one.
    pub runs: u32,
}

/// Which entities of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityQuery {
    /// Which noun.
    pub kind: EntityKind,
    /// Of this tree.
    pub root: Option<AgentId>,
    /// Of this agent.
    pub parent: Option<AgentId>,
    /// In this status.
    pub status: Option<String>,
    /// With these words, or the first of them where there are many; any text is safe, none of it is query
    /// syntax.
    pub text: Option<String>,
    /// Which page; ignored with `text`, which returns the best `limit`.
    pub page: Page,
}

impl EntityQuery {
    /// All entities of one kind.
    #[must_use]
    pub fn of(kind: EntityKind) -> Self {
        Self { kind, root: None, parent: None, status: None, text: None, page: Page::default() }
    }
}
