//! The notes of a tree, for tools to read.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_store::{EntityQuery, Page, Store};
use entourage_tools::{Error, Notes, Result};
use entourage_types::{AgentId, EntityKind, Note, Owner, Record, Scope};

/// Bytes of notes per read: room for several notes of the longest that agents may write.
const BYTES: usize = 2 << 20;

/// The notes of one tree.
pub(crate) struct TreeNotes {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) owner: Owner,
    pub(crate) root: AgentId,
}

impl TreeNotes {
    async fn read(&self, query: EntityQuery) -> Result<Vec<Note>> {
        let query = EntityQuery { root: Some(self.root), ..query };
        let found = self.store.entities(&Scope::from(&self.owner), query).await;
        let found = found.map_err(|error| Error::Failed(format!("the notes cannot be read: {error}")))?;
        found
            .iter()
            .map(|entity| Note::from_entity(entity).map_err(|error| Error::Failed(error.to_string())))
            .collect()
    }
}

#[async_trait]
impl Notes for TreeNotes {
    async fn search(&self, text: &str, limit: u32) -> Result<Vec<Note>> {
        let page = Page { limit, bytes: BYTES, ..Page::default() };
        let text = Some(text.to_owned());
        self.read(EntityQuery { text, page, ..EntityQuery::of(EntityKind::Note) }).await
    }

    async fn latest(&self, limit: u32) -> Result<Vec<Note>> {
        let page = Page { limit, bytes: BYTES, newest_first: true, ..Page::default() };
        self.read(EntityQuery { page, ..EntityQuery::of(EntityKind::Note) }).await
    }
}
