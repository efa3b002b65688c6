//! What agents remember, for their owner to see.

use entourage_types::{AgentId, Learning};

use super::Client;
use crate::Result;

impl Client {
    /// What an agent has learned and still holds, oldest first.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn learnings(&self, agent: AgentId) -> Result<Vec<Learning>> {
        let agent = self.agent(agent).await?;
        Ok(self.house.memory(&agent).learnings().await?)
    }
}
