//! Writing to an agent. The message waits in its inbox until the agent reads it.

use entourage_store::{Commit, Error as StoreError, Expect};
use entourage_types::{AgentId, EntityKind, PostId, Status};
use serde::Serialize;

use super::{Client, checked_text, create::message_post};
use crate::{Error, Result};

/// A message that has been taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Posted {
    /// Who will read it.
    pub agent: AgentId,
    /// The post.
    pub post: PostId,
}

impl Client {
    /// Writes to an agent, at work or not; it reads the message before its next model call.
    ///
    /// The same `key` with the same text is one message.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Gone`] for a cancelled agent, [`Error::Invalid`] for an empty text.
    pub async fn send(&self, to: AgentId, text: &str, key: Option<&str>) -> Result<Posted> {
        checked_text(text)?;
        let mut agent = self.agent(to).await?;
        if agent.status == Status::Cancelled {
            return Err(Error::Gone(to));
        }
        agent.updated = self.house.now();
        let post = message_post(&agent, text.to_owned());
        let posted = Posted { agent: to, post: post.id };
        let mut commit = Commit::new(agent.updated).expect(Expect::Agent(to));
        commit.post(post, &self.owner);
        let request = format!("{to}\n{text}");
        let first = match self.once(key, &request, &posted.post.to_string(), &mut commit).await? {
            Some(first) => Some(first),
            None => match self.house.store().commit(commit).await {
                Ok(_) => None,
                Err(StoreError::Exists { kind: EntityKind::Request, .. }) => {
                    self.once(key, &request, "", &mut Commit::new(agent.updated)).await?
                }
                Err(error) => return Err(error.into()),
            },
        };
        match first {
            Some(post) => Ok(Posted { agent: to, post: post.parse().map_err(|_| Error::KeyReused)? }),
            None => Ok(posted),
        }
    }
}
