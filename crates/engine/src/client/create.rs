//! Creating a root agent, with or without its first message.

use entourage_store::{Commit, Write};
use entourage_types::{Agent, AgentId, Author, Post, PostBody};
use serde::Serialize;

use super::{Client, checked_name, checked_text};
use crate::{Error, Result, titles::title_of};

/// The agent to create.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct NewAgent {
    /// The kind of agent; `assistant` if none is given.
    pub kind: Option<String>,
    /// What it is for, in a few words; the message's beginning if none is given.
    pub title: Option<String>,
    /// Its first message.
    pub message: Option<String>,
}

/// The kind that a person talks to unless another is named.
const DEFAULT_KIND: &str = "assistant";

impl Client {
    /// Creates an agent; with a message, the agent starts to work on it.
    ///
    /// The same `key` with the same request returns the agent of the first request, whatever kinds exist by
    /// then.
    ///
    /// # Errors
    /// [`Error::UnknownKind`], [`Error::Invalid`] for an empty message and a long title,
    /// [`Error::KeyReused`], [`Error::Forgotten`] if the agent of the first request was pruned.
    pub async fn create(&self, new: NewAgent, key: Option<&str>) -> Result<Agent> {
        let request = serde_json::to_string(&new)?;
        if let Some(first) = self.first_answer(key, &request).await? {
            return self.made_before(first).await;
        }
        checked_name("kind", new.kind.as_deref().unwrap_or_default())?;
        checked_name("title", new.title.as_deref().unwrap_or_default())?;
        let kinds = self.engine.kinds();
        let kind = kinds.named(new.kind.as_deref().unwrap_or(DEFAULT_KIND))?;
        self.engine.check_kind(&kind).map_err(Error::Invalid)?;
        if let Some(text) = &new.message {
            checked_text(text)?;
        }
        let now = self.engine.now();
        let title = new.title.clone().or_else(|| new.message.as_deref().map(title_of)).unwrap_or_default();
        let agent = Agent::root(self.owner.clone(), &kind.name, title, now);
        let mut commit = Commit::new(now).write(Write::NewAgent(agent.clone()));
        if let Some(text) = &new.message {
            commit.post(message_post(&agent, text.clone(), false), &self.owner);
        }
        match self.commit_once(key, &request, agent.id, commit).await? {
            Some(first) => self.made_before(first).await,
            None => Ok(agent),
        }
    }

    /// The agent of the first request with a key.
    pub(super) async fn made_before(&self, id: AgentId) -> Result<Agent> {
        self.engine.store().agent(&self.scope, id).await?.ok_or(Error::Forgotten(id))
    }
}

/// A person's message to an agent, with the id of its wake-up.
pub(super) fn message_post(agent: &Agent, text: String, queued: bool) -> Post {
    let body = PostBody::Message { from: Author::User, text, task: None, queued, options: None };
    Post::new(agent.id, agent.updated, body)
}
