//! Changing a document.

use entourage_store::Commit;
use entourage_types::{Change, Document, DocumentId};

use super::super::Client;
use crate::{
    Result,
    documents::{DocumentChange, Refused, check_seen},
};

/// Which version of a document a change is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// The one that the editor has seen: if the document has another one, nothing is changed.
    Exactly(u64),
    /// Whichever it has.
    Any,
}

impl Client {
    /// Changes a document: its new version is committed with it (S5-R062, S5-R125). A change that changes nothing makes
    /// no version. Of two changes at once none is lost: each is made to the document as it is then.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::StaleVersion`](crate::Error::StaleVersion) with the version
    /// it has; [`Error::Invalid`](crate::Error::Invalid) for a name or a text that cannot be kept;
    /// [`Error::NameInUse`](crate::Error::NameInUse) if another document of the project has the name (S5-R078).
    pub async fn change_document(
        &self,
        id: DocumentId,
        change: DocumentChange,
        expected: ExpectedVersion,
    ) -> Result<Document> {
        self.revise(id, &change, Change::Edited, expected).await
    }

    /// Commits the next version of a document, or nothing if it would be as the present one.
    pub(super) async fn revise(
        &self,
        id: DocumentId,
        what: &DocumentChange,
        how: Change,
        expected: ExpectedVersion,
    ) -> Result<Document> {
        loop {
            let before = self.as_editor().read(id).await?;
            if let ExpectedVersion::Exactly(expected) = expected {
                check_seen(&before.record.head, expected)?;
            }
            let mut commit = Commit::new(self.engine.now());
            let after = self.as_editor().revise(before.clone(), what.clone(), how, &mut commit)?;
            let Some(after) = after else { return Ok(before.record) };
            match self.commit_named(commit, &after.head.name).await {
                Err(Refused::Again) => {}
                Err(Refused::For(error)) => return Err(error),
                Ok(()) => return Ok(after),
            }
        }
    }
}
