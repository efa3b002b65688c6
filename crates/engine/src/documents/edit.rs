//! What the call of a document tool does to a document, in the commit of the call's output.

use entourage_store::{Commit, Versioned};
use entourage_tools::{DocumentEdit, DocumentWrite};
use entourage_types::{Change, Document, DocumentHead, DocumentId, Scope, with_sections};

use super::{DocumentChange, Documents};
use crate::{Error, Result};

impl Documents<'_> {
    /// Adds to a commit what a call does. Sections are replaced in the document as it is now, so that two calls of one
    /// turn may edit one document; a text that replaces the whole one does so only if that is as it was read.
    ///
    /// # Errors
    /// As for a person's change; [`Error::NotFound`], and [`Error::StaleVersion`] for a whole text.
    pub(crate) async fn edit(&self, edit: &DocumentEdit, commit: &mut Commit) -> Result<()> {
        self.write(edit.write(), commit).await.map(drop)
    }

    /// The same for a program. Returns what is known of the document then, beside its text.
    ///
    /// # Errors
    /// As [`edit`](Self::edit).
    pub(crate) async fn write(&self, write: &DocumentWrite, commit: &mut Commit) -> Result<DocumentHead> {
        let (before, content, summary) = match write {
            DocumentWrite::Create { id, new } => {
                return Ok(self.create(*id, new.clone(), commit).await?.head);
            }
            DocumentWrite::Sections { document, edits, summary } => {
                let before = self.read(*document).await?;
                let content = with_sections(&before.record.content, edits)?;
                (before, content, summary)
            }
            DocumentWrite::Rewrite { document, at, content, summary } => {
                let before = self.read(*document).await?;
                check_seen(&before.record.head, *at)?;
                (before, content.clone(), summary)
            }
        };
        let head = before.record.head.clone();
        let (content, summary) = (Some(content), summary.clone());
        let what = DocumentChange { content, summary, ..DocumentChange::default() };
        let after = self.revise(before, what, Change::Edited, commit)?;
        Ok(after.map_or(head, |after| after.head))
    }

    /// Reads a document with the version of its row.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub(crate) async fn read(&self, id: DocumentId) -> Result<Versioned<Document>> {
        let found = self.store.versioned(&Scope::from(self.owner), id).await?;
        found.ok_or_else(|| Error::not_found("document", id))
    }
}

/// Refuses a change by an editor that has seen another version.
///
/// # Errors
/// [`Error::StaleVersion`].
pub(crate) fn check_seen(document: &DocumentHead, expected: u64) -> Result<()> {
    match document.version {
        current if current == expected => Ok(()),
        current => Err(Error::StaleVersion { document: document.id, expected, current }),
    }
}
