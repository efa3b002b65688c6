//! Writing to an agent. The message waits in its inbox until the agent reads it.

use entourage_store::{Commit, Expect};
use entourage_types::{Action, AgentId, Input, InterventionId, PostBody, PostId, Status};

use super::{Client, checked_text, create::message_post, inbox::has_room};
use crate::{Error, NodeSignal, Result, goals};

/// A message that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// The agent that will read it.
    pub agent: AgentId,
    /// The post.
    pub post: PostId,
}

impl Client {
    /// Sends a message to an agent. An agent at work reads it when its kind's input policy says, which is
    /// before its next model call unless the kind's file says otherwise.
    ///
    /// The same `key` with the same text is one message: a repeated request gets the first answer, whatever
    /// happened to the agent since.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Gone`] for a cancelled agent, [`Error::Invalid`] for an empty text,
    /// [`Error::AtWork`] if the kind refuses messages meanwhile, [`Error::NotNow`] if the inbox has too many
    /// unread messages or too much text, its goal is archived or the task that it was created for has ended.
    pub async fn send(&self, to: AgentId, text: &str, key: Option<&str>) -> Result<Posted> {
        checked_text(text)?;
        // Read before the key is looked up: of two equal requests at once, neither is refused for what the
        // other began.
        let mut agent = self.agent(to).await?;
        let request = request_of(to, text);
        if let Some(first) = self.first_answer(key, &request).await? {
            return Ok(Posted { agent: to, post: first });
        }
        if agent.status == Status::Cancelled {
            return Err(Error::Gone(to));
        }
        self.engine.may_be_told(&agent).await?;
        let at_work = matches!(agent.status, Status::Running | Status::Waiting);
        let input = match self.engine.kind_at_work(&agent).await {
            Ok(kind) => kind.input,
            // The run that reads the message reports that its kind is gone.
            Err(Error::UnknownKind { .. } | Error::Kinds(_)) => Input::Steer,
            Err(error) => return Err(error),
        };
        if at_work && input == Input::Refuse {
            return Err(Error::AtWork(to));
        }
        let interrupts = at_work && input == Input::Interrupt;
        agent.updated = self.engine.now();
        let mut post = message_post(&agent, text.to_owned(), input == Input::Queue);
        if interrupts {
            let (id, text) = (InterventionId::new(), Some(text.to_owned()));
            post.body = PostBody::Intervention { id, action: Action::Modify, text, of: None };
        }
        let posted = Posted { agent: to, post: post.id };
        let mut commit = Commit::new(agent.updated).expect(Expect::Agent(to));
        commit.post(post, &self.owner);
        commit.expect.push(has_room(to));
        commit.expect.extend(self.engine.open_goal(&agent).await?);
        let committed = self.commit_once(key, &request, posted.post, commit).await;
        if let Some(first) = committed.map_err(|error| goals::refused(to, error))? {
            return Ok(Posted { agent: to, post: first });
        }
        if interrupts {
            self.engine.interrupt(to, None);
        }
        // No event tells of it before the agent reads it.
        self.engine.inner.news.unread(&self.owner, agent.root, to);
        self.engine.inner.signals.broadcast(NodeSignal::Tree(agent.root));
        Ok(posted)
    }
}

/// The text by which a message that comes twice is recognised.
pub(super) fn request_of(to: AgentId, text: &str) -> String {
    format!("{to}\n{text}")
}
