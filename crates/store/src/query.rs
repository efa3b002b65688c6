//! The queries of a store. An absent condition does not restrict.

use entourage_types::{AgentId, Parent, Record, RecordSelector, RunId, ShownStatus};

/// A page of a list: how many rows, and after which row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The id of the last row already seen. One that does not exist, or that the scope does not include, is
    /// refused with [`Error::NoRow`](crate::Error::NoRow).
    pub after: Option<String>,
    /// At most this many rows.
    pub limit: u32,
    /// Newest first.
    pub newest_first: bool,
    /// The page ends with the row at which its rows reach this many bytes, so that it has at least one row.
    /// Only the texts of rows count, and only roughly.
    pub bytes: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { after: None, limit: 100, newest_first: false, bytes: usize::MAX }
    }
}

impl Page {
    /// All rows, oldest first: for lists that are bounded anyway, such as the agents of a tree.
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
    /// Children of this agent.
    pub parent: Option<AgentId>,
    /// Only agents without a parent.
    pub roots: bool,
    /// Of this kind.
    pub kind: Option<String>,
    /// With this key.
    pub key: Option<String>,
    /// In this status, as users see it.
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
    /// The agent whose transcript it is.
    pub agent: AgentId,
    /// Items with this number or above.
    pub from: u64,
    /// Items below this number; `limit` and `bytes` then keep the items nearest to it, and not those nearest
    /// to `from`.
    pub before: Option<u64>,
    /// Written by this run.
    pub run: Option<RunId>,
    /// At most this many.
    pub limit: u32,
    /// No further items once they reach this many bytes, as in a [`Page`].
    pub bytes: usize,
}

impl ItemQuery {
    /// Up to `limit` items of a transcript, from this number on.
    #[must_use]
    pub fn of(agent: AgentId, from: u64, limit: u32) -> Self {
        Self { agent, from, before: None, run: None, limit, bytes: usize::MAX }
    }
}

/// Which runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunQuery {
    /// With this id.
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
    /// The version of the kind that they started with.
    pub version: String,
    /// How many there are, at least one.
    pub runs: u32,
}

/// Which entities of one noun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityQuery {
    /// Of which noun, and in which status.
    pub records: RecordSelector,
    /// Of this tree.
    pub root: Option<AgentId>,
    /// Of this agent or record.
    pub parent: Option<Parent>,
    /// With all of these words, or the first ones if there are many. Any text is safe, because none of it is
    /// query syntax.
    pub text: Option<String>,
    /// Also reads the texts by which the records are found. A list of long documents need not.
    pub with_texts: bool,
    /// Which page. With `text`, only its `limit` counts: the best matches are returned.
    pub page: Page,
}

impl EntityQuery {
    /// All records of this type.
    #[must_use]
    pub fn records<R: Record>() -> Self {
        Self::of(RecordSelector::all::<R>())
    }

    /// The records of this type that are in this status.
    #[must_use]
    pub fn in_status<R: Record>(status: R::Status) -> Self {
        Self::of(RecordSelector::in_status::<R>(status))
    }

    /// The records that a selector names, for code that does not know their type.
    #[must_use]
    pub fn of(records: impl Into<RecordSelector>) -> Self {
        let (records, page) = (records.into(), Page::default());
        Self { records, root: None, parent: None, text: None, with_texts: false, page }
    }
}
