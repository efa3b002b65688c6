//! What an agent remembers beside its conversation: for its model to see, and for tools to read.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_store::{EntityQuery, ItemQuery, Page, Result, Store};
use entourage_tools::Error as ToolError;
use entourage_types::{
    Agent, AgentId, ItemBody, Kind, Learning, LearningStatus, Note, Owner, Record, Scope, Section, Session,
    Time,
};

use crate::{prompt::Tail, sub_agents, toolset::Toolset};

/// A page size above the most learnings that an agent can have.
const ALL_LEARNINGS: u32 = 200;
/// How many sessions are read in search of those since a given time.
const SESSIONS: u32 = 50;
/// The tool that an agent with learnings has.
const LEARNS: &str = "save_learning";

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

    /// Its learnings that were not retired, oldest first.
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

    /// Its closed sessions, newest first.
    pub(crate) async fn latest_sessions(&self, limit: u32) -> Result<Vec<Session>> {
        let page = Page { limit, newest_first: true, ..Page::default() };
        self.records(EntityQuery { parent: Some(self.agent), page, ..EntityQuery::of(Session::KIND) }).await
    }

    /// The content of the prompt's sections after the conversation, as far as its kind includes them.
    pub(crate) async fn tail(&self, kind: &Kind, offer: &Toolset) -> Result<Tail> {
        let wants = |section| kind.context.sections.contains(&section);
        let mut tail = Tail::default();
        if wants(Section::Notes) {
            tail.notes = self.notes(Tail::NOTES).await?;
        }
        if wants(Section::Learnings) && offer.has(LEARNS) {
            tail.learnings = self.learnings().await?;
        }
        if wants(Section::SubAgents) {
            tail.sub_agents = sub_agents::of(&*self.store, &self.owner, self.root, self.agent).await?;
        }
        Ok(tail)
    }

    async fn found(&self, words: &str) -> Result<Vec<Session>> {
        if words.is_empty() {
            return self.latest_sessions(SESSIONS).await;
        }
        let query = EntityQuery {
            parent: Some(self.agent),
            text: Some(words.to_owned()),
            page: Page { limit: SESSIONS, ..Page::default() },
            ..EntityQuery::of(Session::KIND)
        };
        self.records(query).await
    }

    async fn whole_text(&self, item: u64) -> Result<Option<String>> {
        let query = ItemQuery::of(self.agent, item, 1);
        let found = self.store.items(&Scope::from(&self.owner), query).await?;
        Ok(found.into_iter().find(|found| found.seq == item).and_then(|found| match found.body {
            ItemBody::Message(message) => Some(message.text),
            ItemBody::Output(output) => Some(output.text),
            _ => None,
        }))
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

    async fn sessions(
        &self,
        words: &str,
        since: Time,
        limit: usize,
    ) -> entourage_tools::Result<Vec<Session>> {
        let mut found = self.found(words).await.map_err(unreadable)?;
        found.retain(|session| session.completed >= since);
        found.truncate(limit);
        Ok(found)
    }

    async fn text(&self, item: u64) -> entourage_tools::Result<Option<String>> {
        self.whole_text(item).await.map_err(unreadable)
    }
}

fn unreadable(error: entourage_store::Error) -> ToolError {
    ToolError::Failed(format!("what you remember cannot be read: {error}"))
}
