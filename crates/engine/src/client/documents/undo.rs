//! Bringing back an earlier version.

use entourage_types::{Change, Document, DocumentId, DocumentVersion};

use super::{super::Client, ExpectedVersion};
use crate::{Result, documents::DocumentChange};

impl Client {
    /// Brings back the name, the standing instruction and the text of an earlier version, as a new version: nothing
    /// that was written since is lost. If the document is as it was then, nothing is written.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for the document or the version;
    /// [`Error::StaleVersion`](crate::Error::StaleVersion); [`Error::NameInUse`](crate::Error::NameInUse) if another
    /// document got the name since.
    pub async fn undo_document(
        &self,
        id: DocumentId,
        to: u64,
        expected: ExpectedVersion,
    ) -> Result<Document> {
        let DocumentVersion { name, standing_instruction, content, .. } =
            self.document_version(id, to).await?;
        let back = DocumentChange {
            name: Some(name),
            standing_instruction: Some(standing_instruction),
            content: Some(content),
            summary: format!("version {to} again"),
        };
        self.revise(id, &back, Change::Undone, expected).await
    }
}
