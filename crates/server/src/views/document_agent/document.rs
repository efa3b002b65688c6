//! Documents of a project.

use entourage_api::schema;
use entourage_engine::FoundDocument;
use entourage_types::{Document, DocumentHead, Time};
use serde::Serialize;
use utoipa::ToSchema;

/// A document, without its text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedDocumentHead)]
pub(crate) struct DocumentHeadView {
    /// Its id.
    id: u64,
    /// The project it belongs to.
    project_id: u64,
    /// Its name.
    name: String,
    /// What every editor keeps to; may be empty.
    standing_instruction: String,
    /// The number of its present version, which is its `ETag`.
    version: u64,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

/// A document (S5-R112).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedDocument)]
pub(crate) struct DocumentView {
    #[serde(flatten)]
    head: DocumentHeadView,
    /// Its text, Markdown.
    content: String,
}

/// A document that a search found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedFoundDocument)]
pub(crate) struct FoundDocumentView {
    #[serde(flatten)]
    head: DocumentHeadView,
    /// The words in context, in one line; the beginning of the text if only the name has them.
    snippet: String,
}

impl DocumentHeadView {
    /// The document, of the project with this number.
    pub(crate) fn of(project: u64, head: DocumentHead) -> Self {
        let DocumentHead { number, name, standing_instruction, version, created, updated, .. } = head;
        Self {
            id: number,
            project_id: project,
            name,
            standing_instruction,
            version,
            created_at: created,
            updated_at: updated,
        }
    }
}

impl DocumentView {
    /// The document, of the project with this number.
    pub(crate) fn of(project: u64, document: Document) -> Self {
        let Document { head, content } = document;
        Self { head: DocumentHeadView::of(project, head), content }
    }
}

impl FoundDocumentView {
    /// The document, of the project with this number.
    pub(crate) fn of(project: u64, found: FoundDocument) -> Self {
        Self { head: DocumentHeadView::of(project, found.head), snippet: found.snippet }
    }
}
