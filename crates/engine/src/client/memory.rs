//! What agents remember, for their owner to see.

use entourage_store::{Page, RecordFilter};
use entourage_types::{
    Action, AgentId, Intervention, Learning, LearningStatus, Note, Parent, Session, Timeframe,
};

use super::{Client, Narrowed};
use crate::Result;

impl Client {
    /// The learnings of an agent that were not retired, oldest first.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn learnings(&self, agent: AgentId) -> Result<Vec<Learning>> {
        let agent = self.agent(agent).await?;
        Ok(self.engine.memory(&agent).learnings().await?)
    }

    /// The closed sessions of an agent.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn sessions(&self, agent: AgentId, page: Page) -> Result<Vec<Session>> {
        let agent = self.agent(agent).await?;
        self.records(RecordFilter { parent: Some(agent.id.into()), page, ..RecordFilter::default() }).await
    }

    /// A page of notes, newest first: of one tree or of all, with all of these words if any are given.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_notes(
        &self,
        root: Option<AgentId>,
        words: Option<String>,
        page: Page,
    ) -> Result<Narrowed<Note>> {
        self.searched(RecordFilter { root, words, page, ..RecordFilter::default() }).await
    }

    /// A page of closed sessions, newest first: of one agent or of all, with all of these words in their summary.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_sessions(
        &self,
        agent: Option<AgentId>,
        words: Option<String>,
        page: Page,
    ) -> Result<Narrowed<Session>> {
        let parent = agent.map(Parent::from);
        // Words are found by tree, and not by agent.
        let found = match agent {
            Some(id) => self.engine.store().agent(&self.scope, id).await?,
            None => None,
        };
        let root = found.map(|agent| agent.root);
        self.searched(RecordFilter { root, parent, words, page, ..RecordFilter::default() }).await
    }

    /// A page of the closed sessions of an agent, newest first: of those that were closed within a time, with all of these
    /// words in what was said in them, if any are given.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn sessions_within(
        &self,
        agent: AgentId,
        words: Option<String>,
        timeframe: Timeframe,
        page: Page,
    ) -> Result<Narrowed<Session>> {
        let agent = self.agent(agent).await?;
        let since = timeframe.since(self.engine.now());
        let (root, parent) = (words.is_some().then_some(agent.root), Some(agent.id.into()));
        self.searched(RecordFilter { root, parent, since, words, page, ..RecordFilter::default() }).await
    }

    /// A page of learnings, newest first: of one tree or of all, in one status or in any, with all of these words.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_learnings(
        &self,
        root: Option<AgentId>,
        status: Option<LearningStatus>,
        words: Option<String>,
        page: Page,
    ) -> Result<Narrowed<Learning>> {
        self.searched(RecordFilter { root, status, words, page, ..RecordFilter::default() }).await
    }

    /// Requests that an agent's session be closed, that is summed up and archived, once the agent rests. The
    /// next message begins a new one. An empty session is not closed.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`]; [`crate::Error::Gone`] for a deleted agent; [`crate::Error::NotNow`] for
    /// an agent that works for another.
    pub async fn close_session(&self, agent: AgentId) -> Result<Intervention> {
        self.intervene(agent, Action::CloseSession, None).await
    }
}
