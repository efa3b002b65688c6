//! Agencies: listing them, and their chats and threads.

use std::sync::Arc;

use entourage_store::{Page, RecordFilter};
use entourage_types::{Agent, Chat, ChatStatus};

use super::{Client, Narrowed};
use crate::{Agency, Error, Result};

impl Client {
    /// All agencies of the engine, by name.
    #[must_use]
    pub fn agencies(&self) -> Vec<Arc<Agency>> {
        self.engine.kinds().agencies().cloned().collect()
    }

    /// The agency of this name.
    ///
    /// # Errors
    /// [`Error::UnknownAgency`].
    pub fn agency(&self, name: &str) -> Result<Arc<Agency>> {
        self.engine.kinds().agency(name)
    }

    /// The threads of a chat of an agency, oldest first; none if the chat has no message yet.
    ///
    /// # Errors
    /// [`Error::UnknownAgency`]; when the store fails.
    pub async fn threads(&self, agency: &str, chat: &str) -> Result<Vec<Agent>> {
        let root = self.chat(&chat_in(&*self.agency(agency)?, chat)).await?;
        match self.tree(root).await {
            Err(Error::NotFound { .. }) => Ok(Vec::new()),
            tree => tree,
        }
    }

    /// A page of the chats of an agency, under the names they have there; otherwise as [`Client::chats`]. It looks at a
    /// bounded number of chats.
    ///
    /// # Errors
    /// [`Error::UnknownAgency`]; when the store fails.
    pub async fn agency_chats(&self, agency: &str, page: Page) -> Result<Narrowed<Chat>> {
        let before = chat_in(&*self.agency(agency)?, "");
        let open = RecordFilter { page, ..RecordFilter::in_status(ChatStatus::Open) };
        let found = self.filtered(open, |chat: &Chat| chat.name.starts_with(&before)).await?;
        Ok(found.map(|chat| Chat { name: chat.name[before.len()..].to_owned(), ..chat }))
    }

    /// Deletes a chat of an agency, as [`Client::delete_chat`] does.
    ///
    /// # Errors
    /// [`Error::UnknownAgency`]; [`Error::NotFound`] if the chat never had a message.
    pub async fn delete_agency_chat(&self, agency: &str, chat: &str) -> Result<()> {
        let deleted = self.delete_chat(&chat_in(&*self.agency(agency)?, chat)).await;
        deleted.map_err(|error| match error {
            Error::NotFound { .. } => Error::not_found("chat", chat),
            other => other,
        })
    }
}

/// The name that a chat of an agency has in the engine.
pub(crate) fn chat_in(agency: &Agency, chat: &str) -> String {
    format!("{}/{chat}", agency.name)
}
