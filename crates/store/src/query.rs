//! The queries of a store. An absent condition does not restrict.

use entourage_types::{
    AgentId, AgentKey, EventName, Parent, Record, RecordSelector, RunId, ShownStatus, StopReason, Tally,
    Time, UniqueName, WaitingOn,
};

/// A page of a list: how many rows, and after which row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The id of the last row already seen. One that does not exist, or that the scope does not include, is
    /// refused with [`Error::NoRow`](crate::Error::NoRow).
    pub after: Option<String>,
    /// Leaves out so many rows after that one.
    pub skip: u32,
    /// The id of the last row that the page may go to. A condition that no index serves reads each row up to
    /// there, and no further. If there is no such row, the page is empty.
    pub until: Option<String>,
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
        Self { after: None, skip: 0, until: None, limit: 100, newest_first: false, bytes: usize::MAX }
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
    pub key: Option<AgentKey>,
    /// In this status, as users see it.
    pub status: Option<ShownStatus>,
    /// That wait, and wait on this.
    pub waiting_on: Option<WaitingOn>,
    /// With a title that contains each of these words, in whatever case of ASCII letters.
    pub title: Option<String>,
    /// With posts in the inbox.
    pub unread: bool,
    /// That are queued, at work or waiting, or have posts in the inbox and were not deleted.
    pub active: bool,
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
    /// Looks for the runs of that tree among those of its owner: a tree of many agents has many runs of many agents.
    pub of_large_tree: bool,
    /// Of agents of this kind.
    pub kind: Option<String>,
    /// That started with this version of their kind.
    pub version: Option<String>,
    /// In this status, as users see it.
    pub status: Option<ShownStatus>,
    /// That stopped for this reason.
    pub stop_reason: Option<StopReason>,
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
    /// Of this agent and of all below it.
    pub branch: Option<AgentId>,
    /// With this name, which at most one record of an owner has.
    pub name: Option<UniqueName>,
    /// With this number. Only for projects, documents and chats about these, which have one in their JSON.
    pub number: Option<u64>,
    /// That last changed at this time or later.
    pub since: Option<Time>,
    /// With all of these words, or the first ones if there are many. Any text is safe, because none of it is
    /// query syntax.
    pub text: Option<String>,
    /// Also reads the texts by which the records are found. A list of long documents need not.
    pub with_texts: bool,
    /// Those that are due soonest first, then those that are never due, oldest first. Only for questions.
    pub soonest_first: bool,
    /// Which page. With `text` and unless it is newest first, only its `limit` counts: the best of the
    /// [latest matches](crate::words::RANKED) are returned.
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
        Self {
            records: records.into(),
            root: None,
            parent: None,
            branch: None,
            name: None,
            number: None,
            since: None,
            text: None,
            with_texts: false,
            soonest_first: false,
            page: Page::default(),
        }
    }
}

/// Which events of one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// The root of the tree.
    pub root: AgentId,
    /// Events with numbers above this.
    pub after: u64,
    /// Events with numbers below this.
    pub before: Option<u64>,
    /// `limit` keeps the last of these events, and not the first.
    pub latest: bool,
    /// About this agent.
    pub agent: Option<AgentId>,
    /// With this name.
    pub name: Option<EventName>,
    /// At most this many, and fewer if they are large.
    pub limit: u32,
}

impl EventQuery {
    /// Up to `limit` events of a tree after a number.
    #[must_use]
    pub fn of(root: AgentId, after: u64, limit: u32) -> Self {
        Self { root, after, before: None, latest: false, agent: None, name: None, limit }
    }
}

/// Sums over an agent and all agents below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subtree {
    /// How many agents there are in each status, as users see it: in the order of [`ShownStatus::ALL`].
    pub agents: [u64; ShownStatus::ALL.len()],
    /// How many of their questions are open.
    pub open_questions: u64,
    /// What their runs used, those under way up to their last commit.
    pub used: Tally,
}
