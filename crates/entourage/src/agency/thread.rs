//! Threads: the messages between a recipient and a sender in a chat. They are views of what is stored; the
//! engine stores each item with the step that made it.

use std::sync::Arc;

use entourage_engine::responses::sender_of;
use entourage_llm::Message;
use entourage_types::{Agent, RunId};

use super::{Origin, RunItem};
use crate::{Result, embedded::AtWork};

/// The threads of an agency's chats.
#[derive(Clone)]
pub struct ThreadManager {
    pub(super) home: Arc<AtWork>,
}

/// The messages between a recipient and a sender in a chat.
#[derive(Clone)]
pub struct ConversationThread {
    /// The chat.
    pub chat_id: String,
    /// The recipient, by name.
    pub agent: String,
    /// The sender: another agent, `user`, or the name that the user chose.
    pub sender: String,
    home: Arc<AtWork>,
    row: Agent,
}

impl ThreadManager {
    /// The thread of a recipient and a sender in a chat, the user unless a sender is given; none before its
    /// first message.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn get_thread(
        &self,
        chat_id: &str,
        agent: &str,
        sender: Option<&str>,
    ) -> Result<Option<ConversationThread>> {
        let found = self.home.client.thread(chat_id, agent, sender).await?;
        Ok(found.map(|row| ConversationThread::of(&self.home, chat_id, row)))
    }

    /// All threads of a chat, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn threads(&self, chat_id: &str) -> Result<Vec<ConversationThread>> {
        let client = &self.home.client;
        let tree = match client.tree(client.chat(chat_id).await?).await {
            Err(entourage_engine::Error::NotFound { .. }) => Vec::new(),
            tree => tree?,
        };
        Ok(tree.into_iter().map(|row| ConversationThread::of(&self.home, chat_id, row)).collect())
    }
}

impl std::fmt::Debug for ConversationThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { chat_id, agent, sender, .. } = self;
        f.debug_struct("ConversationThread")
            .field("chat_id", chat_id)
            .field("agent", agent)
            .field("sender", sender)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ThreadManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadManager").finish_non_exhaustive()
    }
}

impl ConversationThread {
    fn of(home: &Arc<AtWork>, chat_id: &str, row: Agent) -> Self {
        let (agent, sender) = (row.kind.clone(), sender_of(&row));
        Self { chat_id: chat_id.to_owned(), agent, sender, home: Arc::clone(home), row }
    }

    /// All its messages, calls and outputs, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn get_full_log(&self) -> Result<Vec<RunItem>> {
        let items = self.home.client.items(self.row.id, 0, u32::MAX).await?;
        let origin = |run: RunId| Origin {
            agent: self.agent.clone(),
            caller: self.sender.clone(),
            depth: self.row.depth,
            run,
            parent_run: None,
            thread: self.row.id,
        };
        Ok(items.iter().flat_map(|item| RunItem::of(item, &origin(item.run))).collect())
    }

    /// The messages that the agent's model would be sent now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn get_history_for_model(&self) -> Result<Vec<Message>> {
        Ok(self.home.client.history(self.row.id).await?)
    }
}
