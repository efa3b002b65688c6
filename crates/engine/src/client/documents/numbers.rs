//! Projects, documents and chats by their numbers, for surfaces that want integers.

use entourage_store::RecordFilter;
use entourage_types::{DocumentHead, Project, ProjectChat, Record};

use super::super::Client;
use crate::{Error, Result};

impl Client {
    /// The project with this number.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn project_numbered(&self, number: u64) -> Result<Project> {
        self.numbered(number).await
    }

    /// The document with this number, without its text.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn document_numbered(&self, number: u64) -> Result<DocumentHead> {
        self.numbered(number).await
    }

    /// The chat about a project with this number.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn project_chat_numbered(&self, number: u64) -> Result<ProjectChat> {
        self.numbered(number).await
    }

    async fn numbered<R: Record>(&self, number: u64) -> Result<R> {
        let found = self.records(RecordFilter::numbered(number)).await?.pop();
        found.ok_or_else(|| Error::not_found(R::KIND.as_str(), number))
    }
}
