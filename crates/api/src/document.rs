//! Documents of a project.

use entourage_types::{self as types, DocumentId, Owner, ProjectId, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// A document, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentHead {
    /// Its id.
    #[schema(value_type = schema::DocumentId)]
    pub id: DocumentId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The project it belongs to.
    #[schema(value_type = schema::ProjectId)]
    pub project: ProjectId,
    /// Its number among the documents of its owner, which is never given again.
    pub number: u64,
    /// Its name; no two documents of a project have the same.
    pub name: String,
    /// What every editor keeps to; may be empty.
    pub standing_instruction: String,
    /// The number of its present version, from 1; it is the document's `ETag`.
    pub version: u64,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::DocumentHead> for DocumentHead {
    fn from(head: types::DocumentHead) -> Self {
        let types::DocumentHead { id, owner, project, number, name, standing_instruction, .. } = head;
        let types::DocumentHead { version, created, updated, .. } = head;
        Self { id, owner, project, number, name, standing_instruction, version, created, updated }
    }
}

/// A document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Document {
    /// All but its text.
    #[serde(flatten)]
    pub head: DocumentHead,
    /// Its text, Markdown.
    pub content: String,
}

impl From<types::Document> for Document {
    fn from(document: types::Document) -> Self {
        let types::Document { head, content } = document;
        Self { head: head.into(), content }
    }
}

/// A document to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct CreateDocument {
    /// Its name, 1 to 200 characters without the blanks around it; no two documents of a project have the same.
    #[schema(min_length = 1, pattern = r"\S")]
    pub name: String,
    /// Its text, Markdown of at most 1 MiB.
    #[serde(default)]
    pub content: String,
    /// What every editor keeps to.
    #[serde(default)]
    pub standing_instruction: String,
    /// What its first version is about, in a line of at most 500 characters.
    #[serde(default)]
    pub summary: String,
}

/// A change of a document. What is left out stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct ChangeDocument {
    /// Its new name, 1 to 200 characters without the blanks around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, pattern = r"\S")]
    pub name: Option<String>,
    /// Its new text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Its new standing instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing_instruction: Option<String>,
    /// What the change is about, in a line of at most 500 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

/// A document that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FoundDocument {
    /// The document.
    #[serde(flatten)]
    pub head: DocumentHead,
    /// The words in context, in one line; the beginning of the text if only the name has them.
    pub snippet: String,
}

/// What to look for in the documents of a project.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchDocuments {
    /// Words that the name or the text of each has; the last one may be the beginning of a word.
    #[param(min_length = 1)]
    pub text: String,
    /// How many documents to return; 50 by default, and at most.
    #[param(minimum = 1, maximum = 50)]
    pub limit: Option<u32>,
}
