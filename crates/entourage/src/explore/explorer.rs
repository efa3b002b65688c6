//! An open explorer: starts agents, shows their tree, and passes on what the user says to them.

use std::{collections::BTreeMap, sync::Arc};

use entourage_engine::{Client, Error as EngineError, ExplorationInput, ItemQuery, Overrides};
use entourage_types::{AgentId, Item};

use super::{
    ActiveAgent, AgentStream, ExplorerBuilder, NewAgentCall, QueryAnswer,
    handler::{CurrentHandler, handler},
};
use crate::{Result, embedded::AtWork};

/// How many items of a transcript are read at once.
const ITEMS: u32 = 1_000;

/// Agents that explore, in this process. They work until it is dropped or [closed](Explorer::close); unfinished work
/// continues when an explorer is opened on the same database.
pub struct Explorer {
    pub(super) home: Arc<AtWork>,
    pub(super) handler: Arc<CurrentHandler>,
    pub(super) kind: String,
}

/// An agent, active or not, with its whole transcript (S3-R085).
#[derive(Debug, Clone, PartialEq)]
pub struct AgentWithMessages {
    /// The agent, as the tree shows it.
    pub agent: ActiveAgent,
    /// All that was said to it and by it, its calls with their outputs, and what it decided, oldest first.
    pub messages: Vec<Item>,
}

impl Explorer {
    /// Starts building an explorer.
    pub fn builder() -> ExplorerBuilder {
        ExplorerBuilder::new()
    }

    /// Starts an agent from a prompt, or from a conversation whose last message is the user's (S3-R077). The returned
    /// future has options, and gives the agent's stream: see [`NewAgentCall`].
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) for a blank prompt, no message (S3-R079), an id that an active agent has,
    /// and a parent that is unknown or not active; no agent is started then.
    pub fn agent(&self, input: impl Into<ExplorationInput>) -> NewAgentCall {
        NewAgentCall::new(Arc::clone(&self.home), self.kind.clone(), input.into())
    }

    /// Follows an agent, active or not, from its beginning: after a restart, for example.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) when there is none.
    pub async fn follow(&self, agent_id: &str) -> Result<AgentStream> {
        let agent = self.client().named_agent(agent_id).await?;
        AgentStream::follow(Arc::clone(&self.home), agent.id).await
    }

    /// All active agents by their ids, without what they said: those that work, wait, or have something to read
    /// (S3-R081). It is a copy: to change an agent, use [`Explorer::user_intervention`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn get_agent_tree(&self) -> Result<BTreeMap<String, ActiveAgent>> {
        let tree = self.client().active_tree(None).await?;
        Ok(tree.agents.into_iter().map(|active| (active.name.clone(), active)).collect())
    }

    /// One agent, active or not, with its whole transcript (S3-R085); none if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn get_agent(&self, agent_id: &str) -> Result<Option<AgentWithMessages>> {
        match self.client().shown_agent(agent_id).await {
            Ok(agent) => {
                let messages = self.messages(agent.agent.id).await?;
                Ok(Some(AgentWithMessages { agent, messages }))
            }
            Err(EngineError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets comment, content and state of an active agent, together or any of them, and returns whether it did: for an
    /// agent that is unknown or has finished it returns `false` and changes nothing. The comment `delete` deletes it,
    /// `modify` has it work on its content anew.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) for a blank or too long text, and when the store fails.
    pub async fn user_intervention(&self, agent_id: &str, overrides: Overrides) -> Result<bool> {
        Ok(self.client().user_intervention(agent_id, &overrides).await?)
    }

    /// Sets who answers what agents ask: a function of the asking agent's id and the prompt (S3-R086). It returns the
    /// answer; none, an error or a panic declines (S3-R087, S3-R089).
    ///
    /// It gets all questions that are open, those from before a restart included, and those to come; several run side by
    /// side. A question that another handler was asked before stays with that one (S3-R094). If a question is closed
    /// meanwhile, because its agent was deleted, for example, the handler's future is dropped.
    pub fn set_query_user_handler<F, A>(&self, ask: F)
    where
        F: Fn(String, String) -> A + Send + Sync + 'static,
        A: Future<Output: QueryAnswer> + Send + 'static,
    {
        self.handler.set(Some(handler(ask)));
    }

    /// Removes the handler. What becomes of further questions, the builder says:
    /// [`ExplorerBuilder::without_handler`].
    pub fn clear_query_user_handler(&self) {
        self.handler.set(None);
    }

    /// The engine's client for the local user: pauses, answers, reads everything.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.home.client
    }

    /// Stops the work, waits for it to end, and closes the database. Nothing is lost: the next explorer on the same
    /// database continues, and asks again what was not answered. Streams that are still held end with
    /// [`Error::Closed`](crate::Error::Closed).
    pub async fn close(self) {
        self.home.close().await;
    }

    async fn messages(&self, agent: AgentId) -> Result<Vec<Item>> {
        let mut messages: Vec<Item> = Vec::new();
        loop {
            let from = messages.last().map_or(0, |last| last.seq + 1);
            let page = self.client().transcript_part(ItemQuery::of(agent, from, ITEMS)).await?;
            if page.is_empty() {
                return Ok(messages);
            }
            messages.extend(page);
        }
    }
}

impl std::fmt::Debug for Explorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explorer").field("kind", &self.kind).finish_non_exhaustive()
    }
}
