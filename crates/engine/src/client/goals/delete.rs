//! Deleting a goal.

use entourage_types::AgentId;

use super::super::Client;
use crate::Result;

impl Client {
    /// Deletes a goal: its agent and those of its tasks end where they are and start nothing any more. If this is cut off,
    /// it can be asked for again.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn delete_goal(&self, agent: AgentId) -> Result<()> {
        self.goal(agent).await?;
        // The goal goes with its agent, after those of its tasks: as long as it is there, what is left can be deleted.
        self.engine.delete(agent).await
    }
}
