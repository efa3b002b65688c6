//! One agent to start, with what its caller says of it.

use std::{future::IntoFuture, sync::Arc};

use entourage_engine::{ExplorationInput, NewExploration};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::AgentStream;
use crate::{Result, embedded::AtWork};

/// An agent to start (S3-R077). Await it for its stream.
#[must_use = "no agent is started until it is awaited"]
pub struct NewAgentCall {
    home: Arc<AtWork>,
    new: NewExploration,
    key: Option<String>,
}

impl NewAgentCall {
    pub(super) fn new(home: Arc<AtWork>, kind: String, input: ExplorationInput) -> Self {
        let new = NewExploration { input, kind: Some(kind), ..NewExploration::of("") };
        Self { home, new, key: None }
    }

    /// Sets the id by which the agent is known; a fresh one by default (S3-R078). No active agent may have it.
    pub fn agent_id(mut self, id: impl Into<String>) -> Self {
        self.new.name = Some(id.into());
        self
    }

    /// Puts it below this active agent, with which it ends if that is deleted. It works for the user all the same.
    pub fn parent_id(mut self, id: impl Into<String>) -> Self {
        self.new.parent = Some(id.into());
        self
    }

    /// Sets what is kept with it and shown in the tree (S3-R095).
    pub fn metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.new.metadata = metadata;
        self
    }

    /// Makes the start idempotent: however often it is sent under this key, one agent is started, and each stream
    /// follows that one.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl IntoFuture for NewAgentCall {
    type Output = Result<AgentStream>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { home, new, key } = self;
            let agent = home.client.explore(new, key.as_deref()).await?;
            AgentStream::follow(home, agent.id).await
        })
    }
}

impl std::fmt::Debug for NewAgentCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewAgentCall").field("new", &self.new).finish_non_exhaustive()
    }
}
