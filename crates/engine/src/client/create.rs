//! Creating an agent, at the top of a new tree or below another agent, with or without its first message.

use entourage_store::{Commit, Error as StoreError, Expect, Write};
use entourage_types::{Agent, AgentId, Author, Limits, Post, PostBody, Status, WorksFor, title_of};
use serde::Serialize;

use super::{Client, checked_name, checked_text};
use crate::{Error, Result};

/// The agent to create.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct NewAgent {
    /// The kind of agent; `assistant` if none is given.
    pub kind: Option<String>,
    /// What it is for, in a few words; the message's beginning if none is given.
    pub title: Option<String>,
    /// Its first message.
    pub message: Option<String>,
    /// The agent below which it is put. It works for the person all the same: the agent above bounds it, and takes
    /// it along when it is deleted, but gives it no work and reads no result.
    // Left out if there is none: databases keep digests of earlier requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
}

/// Why no agent can be put below another one.
const FULL: &str =
    "as many agents live below it as its kind's limits allow; wait until one has ended, or delete one";

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
    /// [`Error::KeyReused`], [`Error::Forgotten`] if the agent of the first request was pruned. For one below another
    /// agent also [`Error::NotFound`], [`Error::Gone`] if that was deleted, and [`Error::NotNow`] if its limits leave no
    /// room.
    pub async fn create(&self, new: NewAgent, key: Option<&str>) -> Result<Agent> {
        let request = serde_json::to_string(&new)?;
        if let Some(first) = self.first_answer(key, &request).await? {
            return self.made_before(first).await;
        }
        let (agent, mut commit) = self.prepare(&new).await?;
        commit.push(Write::NewAgent(agent.clone()));
        if let Some(text) = &new.message {
            commit.post(message_post(&agent, text.clone(), false), &self.owner);
        }
        self.commit_created(agent, commit, key, &request).await
    }

    /// An agent that can be created, and the commit that is to create it, with what this expects.
    pub(super) async fn prepare(&self, new: &NewAgent) -> Result<(Agent, Commit)> {
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
        let mut commit = Commit::new(now);
        let Some(above) = new.parent else {
            return Ok((Agent::root(self.owner.clone(), &kind.name, title, now), commit));
        };
        let (above, limits) = self.above(above).await?;
        commit.expect.extend([
            Expect::NotDeleted(above.id),
            Expect::ChildrenBelow(above.id, limits.max_children),
            Expect::TreeBelow(above.root, limits.max_tree),
        ]);
        let child = above.child(&kind.name, title, None, now);
        Ok((Agent { works_for: WorksFor::Person, ..child }, commit))
    }

    /// Commits the creation of an agent, once per `key`, and returns the agent.
    pub(super) async fn commit_created(
        &self,
        agent: Agent,
        commit: Commit,
        key: Option<&str>,
        request: &str,
    ) -> Result<Agent> {
        match self.commit_once(key, request, agent.id, commit).await {
            Ok(Some(first)) => self.made_before(first).await,
            Ok(None) => Ok(agent),
            Err(Error::Store(
                StoreError::TooManyChildren { parent: agent, .. } | StoreError::TreeFull { root: agent, .. },
            )) => Err(Error::NotNow { agent, why: FULL }),
            Err(error) => Err(error),
        }
    }

    /// The agent below which another is to be put, and the limits that it sets.
    async fn above(&self, id: AgentId) -> Result<(Agent, Limits)> {
        let above = self.agent(id).await?;
        if above.status == Status::Cancelled {
            return Err(Error::Gone(id));
        }
        let limits = self.engine.kinds().get(&above.kind).map(|kind| kind.limits.clone()).unwrap_or_default();
        if above.depth >= limits.max_depth {
            return Err(Error::NotNow {
                agent: id,
                why: "it is as deep in its tree as its kind's limits allow",
            });
        }
        Ok((above, limits))
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
