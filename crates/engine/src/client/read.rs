//! Reading: agents, trees, transcripts, runs, steps, questions, tasks, events.

use entourage_store::{AgentQuery, ItemQuery, Page, RecordFilter, RunQuery};
use entourage_types::{
    Agent, AgentId, Event, Item, Note, Question, QuestionId, QuestionStatus, Run, ShownStatus, Status, Task,
    TaskId,
};

use super::Client;
use crate::{Error, Result, Watch};

impl Client {
    /// One agent.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn agent(&self, id: AgentId) -> Result<Agent> {
        let found = self.engine.store().agent(&self.scope, id).await?;
        found.ok_or_else(|| Error::not_found("agent", id))
    }

    /// Agents, of this status if one is given.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn agents(&self, status: Option<ShownStatus>, page: Page) -> Result<Vec<Agent>> {
        let query = AgentQuery { status, page, ..AgentQuery::default() };
        Ok(self.engine.store().agents(&self.scope, query).await?)
    }

    /// Agents that people created, of this status if one is given.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn roots(&self, status: Option<ShownStatus>, page: Page) -> Result<Vec<Agent>> {
        let query = AgentQuery { roots: true, status, page, ..AgentQuery::default() };
        Ok(self.engine.store().agents(&self.scope, query).await?)
    }

    /// Agents of one kind that people created.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn roots_of(&self, kind: &str, page: Page) -> Result<Vec<Agent>> {
        let query = AgentQuery { roots: true, kind: Some(kind.to_owned()), page, ..AgentQuery::default() };
        Ok(self.engine.store().agents(&self.scope, query).await?)
    }

    /// All agents of the tree that an agent belongs to, parents before children.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn tree(&self, id: AgentId) -> Result<Vec<Agent>> {
        let root = self.agent(id).await?.root;
        let query = AgentQuery { root: Some(root), page: Page::all(), ..AgentQuery::default() };
        Ok(self.engine.store().agents(&self.scope, query).await?)
    }

    /// Items of an agent's transcript from number `from` on.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn items(&self, agent: AgentId, from: u64, limit: u32) -> Result<Vec<Item>> {
        self.transcript_part(ItemQuery::of(agent, from, limit)).await
    }

    /// Items of an agent's transcript by query.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn transcript_part(&self, query: ItemQuery) -> Result<Vec<Item>> {
        self.agent(query.agent).await?;
        Ok(self.engine.store().items(&self.scope, query).await?)
    }

    /// Runs of an agent.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn runs(&self, agent: AgentId, page: Page) -> Result<Vec<Run>> {
        self.agent(agent).await?;
        let query = RunQuery { agent: Some(agent), page, ..RunQuery::default() };
        Ok(self.engine.store().runs(&self.scope, query).await?)
    }

    /// All runs of a tree.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tree_runs(&self, root: AgentId) -> Result<Vec<Run>> {
        let query = RunQuery { root: Some(root), page: Page::all(), ..RunQuery::default() };
        Ok(self.engine.store().runs(&self.scope, query).await?)
    }

    /// One question.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn question(&self, id: QuestionId) -> Result<Question> {
        self.record(id).await
    }

    /// Questions, of one tree or of all.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn questions(
        &self,
        root: Option<AgentId>,
        status: Option<QuestionStatus>,
        page: Page,
    ) -> Result<Vec<Question>> {
        self.records(RecordFilter { root, status, page, ..RecordFilter::default() }).await
    }

    /// All questions that one agent has asked.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn questions_of(&self, agent: AgentId) -> Result<Vec<Question>> {
        self.records(RecordFilter {
            parent: Some(agent.into()),
            page: Page::all(),
            ..RecordFilter::default()
        })
        .await
    }

    /// One task.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn task(&self, id: TaskId) -> Result<Task> {
        self.record(id).await
    }

    /// Tasks, of one tree or of all.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tasks(
        &self,
        root: Option<AgentId>,
        status: Option<Status>,
        page: Page,
    ) -> Result<Vec<Task>> {
        self.records(RecordFilter { root, status, page, ..RecordFilter::default() }).await
    }

    /// Notes, of one tree or of all.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn notes(&self, root: Option<AgentId>, page: Page) -> Result<Vec<Note>> {
        self.records(RecordFilter { root, page, ..RecordFilter::default() }).await
    }

    /// Events of the tree with this root: those with numbers above `after`, or from the first that is kept.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::CursorGone`].
    pub async fn events(
        &self,
        root: AgentId,
        after: impl Into<Option<u64>>,
        limit: u32,
    ) -> Result<Vec<Event>> {
        self.agent(root).await?;
        let after = after.into();
        let (mut events, mut last) = (Vec::new(), after.unwrap_or_default());
        loop {
            let left = limit.saturating_sub(u32::try_from(events.len()).unwrap_or(u32::MAX));
            let part = self.engine.store().events(&self.scope, root, last, left).await?;
            let Some(end) = part.last() else { break };
            last = end.seq;
            events.extend(part);
        }
        match (after, events.first()) {
            (Some(after), Some(first)) if first.seq > after + 1 => {
                Err(Error::CursorGone { root, after, first: first.seq })
            }
            _ => Ok(events),
        }
    }

    /// The number of a tree's last event, after which all events are new; 0 if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn last_event(&self, root: AgentId) -> Result<u64> {
        Ok(self.engine.store().last_event(&self.scope, root).await?)
    }

    /// Follows a tree from after an event number, or from the first event that is kept: first past events,
    /// then new ones.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::CursorGone`], [`Error::CursorAhead`].
    pub async fn watch(&self, root: AgentId, after: impl Into<Option<u64>>) -> Result<Watch> {
        self.agent(root).await?;
        self.engine.inner.feed.watch(self.scope.clone(), root, after.into(), self.memory.clone()).await
    }
}
