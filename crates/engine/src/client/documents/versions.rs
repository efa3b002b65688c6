//! The versions of a document, each whole.

use entourage_store::{Page, RecordFilter};
use entourage_types::{Document, DocumentId, DocumentVersion};

use super::super::{Client, Narrowed};
use crate::{Error, Result};

/// A page of versions ends where they have so many bytes: each has the whole text.
const BYTES: usize = 4 << 20;

impl Client {
    /// A page of the versions of a document, the first one first unless the page asks for the newest. The cursor of a
    /// version is [its id](DocumentVersion::id_of). A page of long texts ends early.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the document.
    pub async fn document_versions(&self, id: DocumentId, page: Page) -> Result<Narrowed<DocumentVersion>> {
        self.document(id).await?;
        let page = Page { bytes: page.bytes.min(BYTES), ..page };
        self.searched(RecordFilter { page, ..RecordFilter::of(Document::as_parent(id)) }).await
    }

    /// One version of a document.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the document or the version.
    pub async fn document_version(&self, id: DocumentId, number: u64) -> Result<DocumentVersion> {
        let version = self.engine.store().record(&self.scope, DocumentVersion::id_of(id, number)).await?;
        match version {
            Some(version) => Ok(version),
            // Without a document there is none of its versions either, and the error says so.
            None => Err(self.document(id).await.err().unwrap_or_else(|| Error::not_found("version", number))),
        }
    }
}
