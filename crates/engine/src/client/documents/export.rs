//! Documents as files.

use entourage_types::{Document, DocumentId, ProjectId};

use super::{super::Client, file_names::FileNames};
use crate::Result;

/// A document as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// A name that is safe in any directory of any system, and ends with `.md`.
    pub name: String,
    /// The text of the document, unchanged.
    pub content: String,
}

impl Client {
    /// One document as a file.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn export_document(&self, id: DocumentId) -> Result<ExportedFile> {
        Ok(FileNames::default().file(self.document(id).await?))
    }

    /// All documents of a project as files, no two of which have the same name on any system.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn export_project(&self, id: ProjectId) -> Result<Vec<ExportedFile>> {
        let mut names = FileNames::default();
        Ok(self.documents(id).await?.into_iter().map(|document| names.file(document)).collect())
    }
}

impl FileNames {
    fn file(&mut self, document: Document) -> ExportedFile {
        ExportedFile { name: self.name(&document.head.name), content: document.content }
    }
}
