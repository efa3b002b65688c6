//! Creating a document.

use entourage_store::Commit;
use entourage_types::{Document, DocumentId, NewDocument};

use super::super::Client;
use crate::{Result, documents::Refused};

impl Client {
    /// Creates a document with its first version and the next number of this owner's documents, in one commit
    /// (S5-R076, S5-R125).
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for the project; [`Error::Invalid`](crate::Error::Invalid) for a name
    /// or a text that cannot be kept; [`Error::NameInUse`](crate::Error::NameInUse) if another document of the project
    /// has the name (S5-R078); [`Error::TooMany`](crate::Error::TooMany) if the project is full.
    pub async fn create_document(&self, new: NewDocument) -> Result<Document> {
        let id = DocumentId::new();
        loop {
            let mut commit = Commit::new(self.engine.now());
            let document = self.as_editor().create(id, new.clone(), &mut commit).await?;
            match self.commit_named(commit, &document.head.name).await {
                Err(Refused::Again) => {}
                Err(Refused::For(error)) => return Err(error),
                Ok(()) => return Ok(document),
            }
        }
    }
}
