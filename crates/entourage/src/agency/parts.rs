//! An open agency: its running engine, and the agents that users can talk to.

use std::sync::Arc;

use entourage_engine::{Client, Page, responses::Follow};
use entourage_types::Chat;
use futures::future::BoxFuture;

use super::{AgencyBuilder, Agent, Ask, RunResult, RunStream, Streamed, ThreadManager, Whole};
use crate::{Error, Result, embedded::AtWork};

/// A group of agents, open for messages. It makes no decisions while they work: it passes messages on.
///
/// Agents work in the background until the agency is dropped or [closed](Agency::close); unfinished work
/// continues when an agency is opened on the same database.
pub struct Agency {
    pub(super) home: Arc<AtWork>,
    pub(super) entry: Vec<Agent>,
    pub(super) agents: Vec<Agent>,
}

impl Agency {
    /// Starts building an agency of these entry points, which users talk to, and flows: which agent may write
    /// to which. A flow has a direction. Messages go to the first entry point unless another is named.
    #[allow(clippy::new_ret_no_self, reason = "an agency exists once it is open")]
    pub fn new<'a>(
        entry_points: impl IntoIterator<Item = &'a Agent>,
        communication_flows: impl IntoIterator<Item = (&'a Agent, &'a Agent)>,
    ) -> AgencyBuilder {
        let flows = communication_flows.into_iter().map(|(from, to)| (from.clone(), to.clone())).collect();
        AgencyBuilder::new(entry_points.into_iter().cloned().collect(), flows)
    }

    /// Sends a message to the first entry point and waits for its answer.
    ///
    /// # Errors
    /// As for [`Agent::get_response`].
    pub fn get_response(&self, message: impl Into<String>) -> Ask<Whole> {
        Ask::new(Ok(Arc::clone(&self.home)), self.first(), message.into())
    }

    /// Like [`Agency::get_response`], but streams what happens as it happens.
    ///
    /// # Errors
    /// As for [`Agent::get_response`].
    pub fn get_response_stream(&self, message: impl Into<String>) -> Ask<Streamed> {
        Ask::new(Ok(Arc::clone(&self.home)), self.first(), message.into())
    }

    /// Follows the answer to the last message that a user sent in a chat, to whichever agent, whether or not
    /// the answer exists already: after a restart, for example.
    ///
    /// # Errors
    /// [`Error::Agency`] when that chat has no message.
    pub async fn resume(&self, chat_id: &str) -> Result<RunStream> {
        let Some((thread, post)) = self.home.client.last_said(chat_id).await? else {
            return Err(Error::Agency(format!("chat `{chat_id}` has no messages yet")));
        };
        let (home, stays) = (Arc::clone(&self.home), self.home.stays());
        let follow = Follow::again(&home.client, chat_id.to_owned(), &thread, post, stays.clone()).await?;
        Ok(RunStream::new(home, follow, stays))
    }

    /// Like [`Agency::resume`], but returns only the result.
    ///
    /// # Errors
    /// As for [`Agency::resume`].
    pub fn resume_response<'a>(&'a self, chat_id: &'a str) -> BoxFuture<'a, Result<RunResult>> {
        Box::pin(async move { self.resume(chat_id).await?.detached().result().await })
    }

    /// An agent by its name.
    #[must_use]
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name() == name)
    }

    /// All agents, in the order in which they were named.
    #[must_use]
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// The threads of its chats.
    #[must_use]
    pub fn threads(&self) -> ThreadManager {
        ThreadManager { home: Arc::clone(&self.home) }
    }

    /// Its chats in the order of their [ids](Chat::id); the last id of a page is where the next page begins.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn chats(&self, page: Page) -> Result<Vec<Chat>> {
        Ok(self.home.client.chats(page).await?)
    }

    /// Deletes a chat with all its threads. The next message in a chat of this name starts a new one.
    ///
    /// # Errors
    /// [`Error::Engine`] when the chat has no message, or the store fails.
    pub async fn delete_chat(&self, chat_id: &str) -> Result<()> {
        Ok(self.home.client.delete_chat(chat_id).await?)
    }

    /// The engine's client for the local user: answers questions, intervenes, reads everything.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.home.client
    }

    /// Stops the work, waits for it to end, and closes the database. Nothing is lost: the next process that
    /// opens the database continues. A caller that still waits for an answer gets [`Error::Closed`]; threads
    /// that it still holds can no longer be read.
    pub async fn close(self) {
        self.home.close().await;
    }

    fn first(&self) -> String {
        self.entry.first().map(|agent| agent.name().to_owned()).unwrap_or_default()
    }
}

impl std::fmt::Debug for Agency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agency").field("agents", &self.agents).finish_non_exhaustive()
    }
}
