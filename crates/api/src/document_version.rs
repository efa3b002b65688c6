//! The versions of a document, and what differs between them.

use entourage_types::{self as types, AgentId, Change, DocumentId, Owner, RunId, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// A version of a document, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentVersion {
    /// The document.
    #[schema(value_type = schema::DocumentId)]
    pub document: DocumentId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// Its number among the versions of the document, from 1, without gaps.
    pub number: u64,
    /// Who made it.
    pub editor: Editor,
    /// What made it.
    #[schema(value_type = schema::Change)]
    pub change: Change,
    /// What it changed, in a line; may be empty.
    pub summary: String,
    /// When it was made.
    #[schema(value_type = schema::Time)]
    pub at: Time,
    /// The document's name in this version.
    pub name: String,
    /// The standing instruction in this version.
    pub standing_instruction: String,
    /// The text in this version.
    pub content: String,
}

impl From<types::DocumentVersion> for DocumentVersion {
    fn from(version: types::DocumentVersion) -> Self {
        let types::DocumentVersion { document, owner, number, editor, change, summary, .. } = version;
        let types::DocumentVersion { at, name, standing_instruction, content, .. } = version;
        let editor = editor.into();
        Self { document, owner, number, editor, change, summary, at, name, standing_instruction, content }
    }
}

/// Who changed a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Editor {
    /// The person who owns it.
    Person,
    /// An agent that works for that person.
    Agent {
        /// Its id.
        #[schema(value_type = schema::AgentId)]
        agent: AgentId,
        /// The run in which it did; left out if that is not known.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        #[schema(value_type = Option<schema::RunId>)]
        run: Option<RunId>,
    },
}

impl From<types::Editor> for Editor {
    fn from(editor: types::Editor) -> Self {
        match editor {
            types::Editor::Person => Self::Person,
            types::Editor::Agent { agent, run } => Self::Agent { agent, run },
        }
    }
}

/// Which versions to compare.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ShowDiff {
    /// The number of the one version.
    #[param(minimum = 1)]
    pub from: u64,
    /// The number of the other.
    #[param(minimum = 1)]
    pub to: u64,
}

/// What differs between two versions of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentDiff {
    /// The version compared.
    pub from: u64,
    /// The version that it is compared with.
    pub to: u64,
    /// The names, if they differ.
    pub name: Option<Replaced>,
    /// The standing instructions, if they differ.
    pub standing_instruction: Option<Replaced>,
    /// The stretches of the text in which lines differ.
    pub hunks: Vec<DiffHunk>,
    /// The same as a unified diff; empty if the texts are equal.
    pub unified: String,
}

/// A text in both versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replaced {
    /// In the one.
    pub before: String,
    /// In the other.
    pub after: String,
}

/// A stretch of the text in which lines differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffHunk {
    /// The number of its first line in the one version, from 1.
    pub before: u64,
    /// The number of its first line in the other.
    pub after: u64,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffLine {
    /// In which of the versions it is.
    pub kind: DiffLineKind,
    /// Its text, with its line end if it has one.
    pub text: String,
}

/// In which of two versions a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffLineKind {
    /// In both.
    Same,
    /// In the one alone.
    Removed,
    /// In the other alone.
    Added,
}

/// Which version to bring back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct UndoDocument {
    /// The number of an earlier version.
    #[schema(minimum = 1)]
    pub to: u64,
}
