//! News of everything that an owner has.

use entourage_types::AgentId;

use super::Client;
use crate::{Result, feed::DeltaFeed, news::NewsFeed};

impl Client {
    /// Follows everything that the owner has: hints of what changed, without facts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn news(&self) -> Result<NewsFeed> {
        self.engine.inner.news.follow(&self.owner).await
    }

    /// Follows the answers in progress of one agent.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn deltas(&self, agent: AgentId) -> Result<DeltaFeed> {
        let root = self.agent(agent).await?.root;
        Ok(self.engine.inner.feed.deltas(root, agent))
    }
}
