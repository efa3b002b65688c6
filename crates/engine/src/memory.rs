//! What an agent remembers beside its conversation, for its model to see.

use std::sync::Arc;

use entourage_store::{Page, RecordFilter, Result, Store};
use entourage_types::{
    Agent, AgentId, Entity, Kind, Learning, LearningStatus, Note, Owner, Record, Scope, Section, Session,
    tool_names,
};

use crate::{
    prompt::{EndedTasks, Sections, View},
    sub_agents,
    toolset::Toolset,
};

/// A page size above the most learnings that an agent can have.
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

    /// Its learnings that were not retired, oldest first.
    pub(crate) async fn learnings(&self) -> Result<Vec<Learning>> {
        let (parent, status) = (Some(self.agent.into()), Some(LearningStatus::Kept));
        let page = Page { limit: ALL_LEARNINGS, ..Page::default() };
        self.records(RecordFilter { parent, status, page, ..RecordFilter::default() }).await
    }

    /// The latest notes of its tree, newest first.
    pub(crate) async fn notes(&self, limit: u32) -> Result<Vec<Note>> {
        let page = Page { limit, newest_first: true, ..Page::default() };
        self.records(RecordFilter { root: Some(self.root), page, ..RecordFilter::default() }).await
    }

    /// Its closed sessions, newest first.
    pub(crate) async fn latest_sessions(&self, limit: u32) -> Result<Vec<Session>> {
        let page = Page { limit, newest_first: true, ..Page::default() };
        self.records(RecordFilter { parent: Some(self.agent.into()), page, ..RecordFilter::default() }).await
    }

    /// What its model is to know beside the conversation, as far as its kind includes that. Tasks that have
    /// not changed since the model read their end are left out.
    pub(crate) async fn sections(
        &self,
        kind: &Kind,
        offer: &Toolset,
        has_read: &View<'_>,
    ) -> Result<Sections> {
        let wants = |section| kind.context.sections.contains(&section);
        let mut sections = Sections::default();
        if wants(Section::Notes) {
            sections.notes = self.notes(Sections::NOTES).await?;
        }
        if wants(Section::Learnings) && offer.has(tool_names::SAVE_LEARNING) {
            sections.learnings = Some(self.learnings().await?);
        }
        if wants(Section::SubAgents) {
            let known = sub_agents::of(&*self.store, &self.owner, self.root, self.agent).await?;
            sections.sub_agents = Some(known);
        }
        if wants(Section::Goal) {
            sections.goal = self.store.record(&Scope::from(&self.owner), self.root).await?;
        }
        if wants(Section::Tasks) {
            let page = Page { limit: Sections::TASKS, newest_first: true, ..Page::default() };
            let of_agent = RecordFilter { parent: Some(self.agent.into()), page, ..RecordFilter::default() };
            let ended = EndedTasks::of(has_read);
            let is_unread = |task: &Entity| !ended.shows(task);
            sections.tasks = self.store.records_where(&Scope::from(&self.owner), of_agent, is_unread).await?;
        }
        Ok(sections)
    }

    async fn records<R: Record>(&self, filter: RecordFilter<R>) -> Result<Vec<R>> {
        self.store.records(&Scope::from(&self.owner), filter).await
    }
}
