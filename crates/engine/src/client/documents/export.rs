//! Documents as files.

use std::collections::VecDeque;

use entourage_store::RecordFilter;
use entourage_types::{Document, DocumentHead, DocumentId, Project, ProjectId};

use super::{
    super::Client,
    file_names::{file_names, safe_stem},
};
use crate::{Result, pages::pages};

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
        let document = self.document(id).await?;
        let name = file_names([document.head.name.as_str()]).concat();
        Ok(ExportedFile { name, content: document.content })
    }

    /// All documents of a project as files, no two of which have the same name on any system. Each is read when it is
    /// asked for: a project may be larger than the memory.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn export_project(&self, id: ProjectId) -> Result<ProjectExport> {
        let name = safe_stem(&self.project(id).await?.name);
        let heads = RecordFilter::<DocumentHead>::of(Project::as_parent(id));
        let mut pages = pages(&**self.engine.store(), &self.scope, heads);
        let mut all = Vec::new();
        while let Some(page) = pages.next().await? {
            all.extend(page);
        }
        let names = file_names(all.iter().map(|head| head.name.as_str()));
        let waiting = all.iter().map(|head| head.id).zip(names).collect();
        Ok(ProjectExport { name, client: self.clone(), waiting })
    }
}

/// The documents of a project, as files.
pub struct ProjectExport {
    /// The project's name as a name of files, without a suffix.
    pub name: String,
    client: Client,
    waiting: VecDeque<(DocumentId, String)>,
}

impl ProjectExport {
    /// The next file; none at the end. A document that is deleted meanwhile is left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next(&mut self) -> Result<Option<ExportedFile>> {
        while let Some((id, name)) = self.waiting.pop_front() {
            let found: Option<Document> = self.client.engine.store().record(&self.client.scope, id).await?;
            if let Some(document) = found {
                return Ok(Some(ExportedFile { name, content: document.content }));
            }
        }
        Ok(None)
    }
}
