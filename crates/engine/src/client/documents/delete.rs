//! Deleting a document.

use entourage_types::{DocumentHead, DocumentId};

use super::{super::Client, ExpectedVersion};
use crate::{Result, documents::check_seen};

impl Client {
    /// Deletes a document with all its versions, if it has the version that the caller has seen. Its name is free then; its
    /// number is not given again.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::StaleVersion`](crate::Error::StaleVersion).
    pub async fn delete_document(&self, id: DocumentId, expected: ExpectedVersion) -> Result<()> {
        self.prune(id, |head: &DocumentHead| match expected {
            ExpectedVersion::Exactly(expected) => check_seen(head, expected),
            ExpectedVersion::Any => Ok(()),
        })
        .await
    }
}
