//! What an agent remembers beside its conversation: for its model to see, and for tools to read.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_store::{EntityQuery, Page, Result, Store};
use entourage_tools::Error as ToolError;
use entourage_types::{Agent, AgentId, Learning, LearningStatus, Note, Owner, Record, Scope};

/// More learnings than an agent can have.
const ALL_LEARNINGS: u32 = 200;

/// The memory of one agent.
pub(crate) struct Memory {
    store: Arc<dyn Store>,
    owner: Owner,
    root: AgentId,
    agent: AgentId,
}

impl Memory {
    pub(crate) fn of(store: &Arc<dyn Store>, agent: &Agent) -> Self {
        Self { store: Arc::clone(store), owner: agent.owner.clone(), root: agent.root, agent: agent.id }
    }

    /// What it has learned and still holds, oldest first.
    pub(crate) async fn learnings(&self) -> Result<Vec<Learning>> {
        let query = EntityQuery {
            parent: Some(self.agent),
            status: Some(LearningStatus::Kept.as_str().to_owned()),
            page: Page { limit: ALL_LEARNINGS, ..Page::default() },
            ..EntityQuery::of(Learning::KIND)
        };
        self.records(query).await
    }

    /// The latest notes of its tree, newest first.
    pub(crate) async fn notes(&self, limit: u32) -> Result<Vec<Note>> {
        let page = Page { limit, newest_first: true, ..Page::default() };
        self.records(EntityQuery { root: Some(self.root), page, ..EntityQuery::of(Note::KIND) }).await
    }

    async fn records<R: Record>(&self, query: EntityQuery) -> Result<Vec<R>> {
        let found = self.store.entities(&Scope::from(&self.owner), query).await?;
        Ok(found.iter().map(R::from_entity).collect::<serde_json::Result<_>>()?)
    }
}

#[async_trait]
impl entourage_tools::Memory for Memory {
    async fn learnings(&self) -> entourage_tools::Result<Vec<Learning>> {
        self.learnings().await.map_err(unreadable)
    }
}

fn unreadable(error: entourage_store::Error) -> ToolError {
    ToolError::Failed(format!("what you remember cannot be read: {error}"))
}
