//! Reading documents: one, those of a project, and their heads alone.

use entourage_store::{Page, RecordFilter};
use entourage_types::{Document, DocumentHead, DocumentId, Project, ProjectId, UniqueName};

use super::super::{Client, Narrowed};
use crate::{Result, documents::DocumentPages};

impl Client {
    /// One document, whole (S5-R058).
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn document(&self, id: DocumentId) -> Result<Document> {
        self.record(id).await
    }

    /// The document of this name in a project, however it is spelled; none if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn document_named(&self, project: ProjectId, name: &str) -> Result<Option<Document>> {
        let name = UniqueName::below(&Project::as_parent(project), name);
        Ok(self.records(RecordFilter { with_texts: true, ..RecordFilter::named(name) }).await?.pop())
    }

    /// A page of what is known of a project's documents beside their texts, which are not read.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for the project.
    pub async fn document_heads(&self, project: ProjectId, page: Page) -> Result<Narrowed<DocumentHead>> {
        self.project(project).await?;
        self.searched(RecordFilter { page, ..RecordFilter::of(Project::as_parent(project)) }).await
    }

    /// All documents of a project, whole, each once, in the order in which they were created (S5-R023, S5-R024).
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for the project.
    pub async fn documents(&self, project: ProjectId) -> Result<Vec<Document>> {
        self.project(project).await?;
        let mut pages = DocumentPages::of(&**self.engine.store(), &self.scope, project);
        let mut documents = Vec::new();
        while let Some(page) = pages.next().await? {
            documents.extend(page);
        }
        Ok(documents)
    }
}
