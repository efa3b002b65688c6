//! Messages about the documents of a project, and what they come to.

use entourage_types::{self as types, AgentId, DocumentId, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{Document, schema};

/// A message about the documents of a project.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct NewAct {
    /// What is to be done, or a question.
    #[schema(min_length = 1, pattern = r"\S")]
    pub message: String,
    /// The agent of the chat that it continues, if that is one of this project; a new chat otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    pub chat: Option<AgentId>,
    /// The document that the user has open: a hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::DocumentId>)]
    pub document: Option<DocumentId>,
}

/// What a message about documents came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Act {
    /// The agent of the chat, for the next message.
    #[schema(value_type = schema::AgentId)]
    pub chat: AgentId,
    /// The run that answered it.
    #[schema(value_type = schema::RunId)]
    pub run: RunId,
    /// The answer.
    pub answer: String,
    /// What it came to; null if there was nothing to decide.
    pub outcome: Option<ActOutcome>,
    /// What the model decided, whole; `{"error": …}` if no model gave an answer that could be used.
    pub decision: Option<Value>,
    /// Whether the web was searched, and gave results.
    pub web_search_performed: bool,
    /// The document that was created or changed, as the act left it.
    pub document: Option<Document>,
}

/// What a message about documents came to, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActOutcome {
    /// The user was asked what they mean.
    Clarification,
    /// The user was asked whether to go on.
    Confirmation,
    /// A document was created.
    Created,
    /// No document was created, although one was to be.
    NotCreated,
    /// A document was changed.
    Updated,
    /// No document was changed, although one was to be.
    NotUpdated,
    /// The user was answered.
    Conversation,
    /// No model gave an answer that could be used.
    ModelFailed,
}

impl From<types::ActOutcome> for ActOutcome {
    fn from(outcome: types::ActOutcome) -> Self {
        match outcome {
            types::ActOutcome::Clarification => Self::Clarification,
            types::ActOutcome::Confirmation => Self::Confirmation,
            types::ActOutcome::Created => Self::Created,
            types::ActOutcome::NotCreated => Self::NotCreated,
            types::ActOutcome::Updated => Self::Updated,
            types::ActOutcome::NotUpdated => Self::NotUpdated,
            types::ActOutcome::Conversation => Self::Conversation,
            types::ActOutcome::ModelFailed => Self::ModelFailed,
        }
    }
}
