//! Deleting a document.

use entourage_types::{DocumentHead, DocumentId};

use super::super::Client;
use crate::Result;

impl Client {
    /// Deletes a document with all its versions. Its name is free then; its number is not given again.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn delete_document(&self, id: DocumentId) -> Result<()> {
        self.prune::<DocumentHead>(id).await
    }
}
