//! The versions of a document, and what differs between them.

use entourage_api::{DocumentDiff, Editor, schema};
use entourage_types::{Change, DocumentVersion, Time};
use serde::Serialize;
use utoipa::ToSchema;

/// A version of a document, whole.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedVersion)]
pub(crate) struct VersionView {
    /// The document.
    document_id: u64,
    /// Its number among the versions of the document, from 1.
    version: u64,
    /// Who made it.
    author: Editor,
    /// What made it.
    #[schema(value_type = schema::Change)]
    change: Change,
    /// What it changed, in a line; may be empty.
    summary: String,
    /// When it was made.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// The document's name in this version.
    name: String,
    /// The standing instruction in this version.
    standing_instruction: String,
    /// The text in this version.
    content: String,
}

impl VersionView {
    /// The version, of the document with this number.
    pub(crate) fn of(document: u64, version: DocumentVersion) -> Self {
        let DocumentVersion { number, editor, change, summary, at, name, .. } = version;
        let DocumentVersion { standing_instruction, content, .. } = version;
        Self {
            document_id: document,
            version: number,
            author: editor.into(),
            change,
            summary,
            created_at: at,
            name,
            standing_instruction,
            content,
        }
    }
}

/// What differs between two versions of a document.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedDiff)]
pub(crate) struct DiffView {
    /// The document.
    document_id: u64,
    #[serde(flatten)]
    diff: DocumentDiff,
}

impl DiffView {
    /// The differences, of the document with this number.
    pub(crate) const fn of(document: u64, diff: DocumentDiff) -> Self {
        Self { document_id: document, diff }
    }
}
