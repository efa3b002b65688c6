//! What a tool may read of the store.

use async_trait::async_trait;
use entourage_types::{AgentId, Entity, EntityKind, Parent, Record, RecordSelector, Time, UniqueName};

use crate::{Error, Result};

/// Reads records of the caller's owner, and the caller's transcript. Nothing of another owner can be reached.
#[async_trait]
pub trait Reader: Send + Sync {
    /// Returns records in the order in which they were first stored; with words, the best match first.
    async fn records(&self, query: RecordQuery) -> Result<Vec<Entity>>;

    /// Returns the record with this id, if there is one.
    async fn record(&self, kind: EntityKind, id: &str) -> Result<Option<Entity>>;

    /// Returns the whole text of the message or output with this number in the caller's transcript.
    async fn text(&self, item: u64) -> Result<Option<String>>;
}

/// Which records of one noun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordQuery {
    /// Of which noun, and in which status.
    pub records: RecordSelector,
    /// Whose records.
    pub of: RecordScope,
    /// With this name.
    pub name: Option<UniqueName>,
    /// That last changed at this time or later.
    pub since: Option<Time>,
    /// With all of these words; the last one may be a prefix.
    pub words: Option<String>,
    /// Also reads the texts by which the records are found, for nouns that keep their long text nowhere else.
    pub with_texts: bool,
    /// Newest first.
    pub newest_first: bool,
    /// Leaves out so many of them, the first ones. Not of a search.
    pub skip: u32,
    /// At most this many.
    pub limit: u32,
}

/// Whose records a query selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordScope {
    /// The caller's own.
    Agent,
    /// Those of all agents of its tree.
    Tree,
    /// Those of all trees of its owner.
    Owner,
    /// Those of its owner that belong to this agent or record.
    Below(Parent),
    /// Those of its owner in the tree that has this agent at its top.
    InTree(AgentId),
}

impl RecordQuery {
    /// Up to a hundred records of this noun, oldest first.
    #[must_use]
    pub fn of<R: Record>(of: RecordScope) -> Self {
        Self::select(RecordSelector::all::<R>(), of)
    }

    /// As [`of`](Self::of), for the records that are in this status.
    #[must_use]
    pub fn in_status<R: Record>(status: R::Status, of: RecordScope) -> Self {
        Self::select(RecordSelector::in_status::<R>(status), of)
    }

    fn select(records: RecordSelector, of: RecordScope) -> Self {
        Self {
            records,
            of,
            name: None,
            since: None,
            words: None,
            with_texts: false,
            newest_first: false,
            skip: 0,
            limit: 100,
        }
    }
}

/// Returns the records that a query selects.
///
/// # Errors
/// If the store cannot be read, or a record is not of this noun.
pub async fn find<R: Record>(reader: &dyn Reader, query: RecordQuery) -> Result<Vec<R>> {
    let found = reader.records(query).await?;
    let read = |entity| R::from_entity(entity).map_err(|error| Error::Failed(error.to_string()));
    found.iter().map(read).collect()
}
