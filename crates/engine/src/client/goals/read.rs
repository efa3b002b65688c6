//! Reading goals.

use entourage_store::{Page, RecordFilter};
use entourage_types::{AgentId, Goal, GoalStatus, Task};

use super::super::{Client, Narrowed};
use crate::Result;

impl Client {
    /// The goal of an agent.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn goal(&self, agent: AgentId) -> Result<Goal> {
        self.record(agent).await
    }

    /// The tasks that the agent of a goal, or the user agent, created; the latest last.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for the agent.
    pub async fn goal_tasks(&self, agent: AgentId, page: Page) -> Result<Vec<Task>> {
        self.agent(agent).await?;
        self.records(RecordFilter { page, ..RecordFilter::of(agent) }).await
    }

    /// A page of goals: of those in this status, and with all of these words in title or description, if any are given.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn goals(
        &self,
        status: Option<GoalStatus>,
        words: Option<String>,
        page: Page,
    ) -> Result<Narrowed<Goal>> {
        self.searched(RecordFilter { status, words, page, ..RecordFilter::default() }).await
    }
}
