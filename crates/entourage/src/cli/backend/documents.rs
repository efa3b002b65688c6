//! Projects, documents and their versions, through the HTTP API.

use entourage_api::{
    ChangeDocument, ChangeProject, CreateDocument, CreateProject, Document, DocumentDiff, DocumentHead,
    DocumentVersion, FoundDocument, List, PageQuery, Project, ProjectChat, SearchDocuments, ShowDiff,
    UndoDocument,
};
use entourage_types::{DocumentId, ProjectId};
use reqwest::{Method, header::IF_MATCH};

use super::{Backend, Result};

/// The tag of a version of a document.
fn tag(version: u64) -> String {
    format!("\"{version}\"")
}

impl Backend {
    /// All projects, newest first.
    pub(crate) async fn projects(&self) -> Result<Vec<Project>> {
        self.whole("projects", &PageQuery::default(), None).await
    }

    /// Creates a project.
    pub(crate) async fn create_project(&self, name: &str, description: &str) -> Result<Project> {
        let new = CreateProject { name: name.to_owned(), description: description.to_owned() };
        self.post_once("projects", &new, None, "entourage projects").await
    }

    /// Changes a project.
    pub(crate) async fn change_project(&self, id: ProjectId, change: &ChangeProject) -> Result<Project> {
        self.answer_to(self.request(Method::PUT, &format!("projects/{id}")).json(change)).await
    }

    /// Deletes a project with its documents.
    pub(crate) async fn delete_project(&self, id: ProjectId) -> Result<()> {
        self.place.waits_for(self.ask(Method::DELETE, &format!("projects/{id}"))).await.map(drop)
    }

    /// All chats about a project, newest first.
    pub(crate) async fn project_chats(&self, project: ProjectId) -> Result<Vec<ProjectChat>> {
        self.whole(&format!("projects/{project}/chats"), &PageQuery::default(), None).await
    }

    /// All documents of a project, newest first, without their texts.
    pub(crate) async fn documents(&self, project: ProjectId) -> Result<Vec<DocumentHead>> {
        self.whole(&format!("projects/{project}/documents"), &PageQuery::default(), None).await
    }

    /// One document.
    pub(crate) async fn document(&self, id: DocumentId) -> Result<Document> {
        self.get(&format!("documents/{id}")).await
    }

    /// Creates a document.
    pub(crate) async fn create_document(&self, project: ProjectId, new: &CreateDocument) -> Result<Document> {
        let path = format!("projects/{project}/documents");
        self.post_once(&path, new, None, "entourage documents").await
    }

    /// Changes a document, if it still has the version that was seen.
    pub(crate) async fn change_document(
        &self,
        id: DocumentId,
        seen: u64,
        change: &ChangeDocument,
    ) -> Result<Document> {
        let request = self.request(Method::PUT, &format!("documents/{id}"));
        self.answer_to(request.header(IF_MATCH, tag(seen)).json(change)).await
    }

    /// Deletes a document, if it still has the version that was seen.
    pub(crate) async fn delete_document(&self, id: DocumentId, seen: u64) -> Result<()> {
        let request = self.request(Method::DELETE, &format!("documents/{id}")).header(IF_MATCH, tag(seen));
        self.place.waits_for(self.answered(request)).await.map(drop)
    }

    /// Documents of a project with all of these words, the best match first; at most so many.
    pub(crate) async fn find_documents(
        &self,
        project: ProjectId,
        text: &str,
        most: u32,
    ) -> Result<Vec<FoundDocument>> {
        let which = SearchDocuments { text: text.to_owned(), limit: Some(most) };
        Ok(self.find::<List<FoundDocument>>(&format!("projects/{project}/search"), &which).await?.data)
    }

    /// Brings back an earlier version of a document, if it still has the version that was seen.
    pub(crate) async fn undo_document(&self, id: DocumentId, seen: u64, to: u64) -> Result<Document> {
        let request = self.request(Method::POST, &format!("documents/{id}/undo"));
        self.answer_to(request.header(IF_MATCH, tag(seen)).json(&UndoDocument { to })).await
    }

    /// The versions of a document, newest first; at most so many.
    pub(crate) async fn document_versions(&self, id: DocumentId, most: u32) -> Result<Vec<DocumentVersion>> {
        self.whole(&format!("documents/{id}/versions"), &PageQuery::default(), Some(most)).await
    }

    /// One version of a document.
    pub(crate) async fn document_version(&self, id: DocumentId, number: u64) -> Result<DocumentVersion> {
        self.get(&format!("documents/{id}/versions/{number}")).await
    }

    /// What differs between two versions of a document.
    pub(crate) async fn document_diff(&self, id: DocumentId, which: ShowDiff) -> Result<DocumentDiff> {
        self.find(&format!("documents/{id}/diff"), &which).await
    }
}
