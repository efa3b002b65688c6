//! The inbox of an agent, as clients see it, and how much it takes.

use entourage_types::{Agent, Author, Post, PostBody, Status};

use super::Client;
use crate::{Error, Result};

/// From so many bytes of unread text on, an agent's inbox takes no more; the agent reads all of it at once.
const MOST_UNREAD: usize = 16 << 20;

impl Client {
    /// Refuses more text for an agent whose inbox has too much unread text.
    pub(super) async fn check_room(&self, agent: &Agent) -> Result<()> {
        let words = |post: &Post| match &post.body {
            PostBody::Message { from: Author::Trigger { trigger }, text, .. } => {
                text.len() + trigger.payload.to_string().len()
            }
            PostBody::Message { text, .. } => text.len(),
            PostBody::Intervention { text, .. } => text.as_ref().map_or(0, String::len),
            _ => 0,
        };
        let unread: usize = self.inbox(agent).await?.iter().map(words).sum();
        if unread < MOST_UNREAD {
            return Ok(());
        }
        let why = "its inbox is full; wait until it has read some messages";
        Err(Error::NotNow { agent: agent.id, why })
    }

    /// The agent as it is if it has nothing to read; none if it has something. It is read after its inbox: what an agent
    /// reads, it takes in the commit that sets it to work, so one that was read before may be at work by then.
    pub(super) async fn with_empty_inbox(&self, agent: &Agent) -> Result<Option<Agent>> {
        if self.inbox(agent).await?.is_empty() { self.agent(agent.id).await.map(Some) } else { Ok(None) }
    }

    /// Whether an agent is at work, or has something to read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_at_work(&self, agent: &Agent) -> Result<bool> {
        let works = |agent: &Agent| matches!(agent.status, Status::Running | Status::Waiting);
        Ok(works(agent) || self.with_empty_inbox(agent).await?.is_none_or(|agent| works(&agent)))
    }

    /// The unread posts of an agent. The store itself gives those of any owner.
    pub(super) async fn inbox(&self, agent: &Agent) -> Result<Vec<Post>> {
        if !self.scope.sees(&agent.owner) {
            return Err(Error::not_found("agent", agent.id));
        }
        Ok(self.engine.store().inbox(agent.id).await?)
    }
}
