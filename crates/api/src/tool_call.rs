//! Calls of tools, and what their outputs mean for a run.

use entourage_types::{self as types, CallId, QuestionId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;

/// A request to use a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolCall {
    /// Its id.
    #[schema(value_type = schema::CallId)]
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The arguments as the model gave them.
    pub arguments: Value,
}

/// The effect of an output on the run of its call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputEffect {
    /// The run's answer, which ends it.
    Answer(String),
    /// A message to the user.
    Said(String),
    /// An output guardrail refused the text.
    Refused {
        /// The name of the guardrail.
        by: String,
    },
    /// The id of the task that another agent works on, or has worked on.
    Delegated(TaskId),
    /// The id of the question to the user; the output's text is the answer.
    Asked(QuestionId),
    /// The id of the question that the user declined to answer.
    Declined(QuestionId),
    /// The id of the question that the user did not answer in time.
    Expired(QuestionId),
}

impl From<types::OutputEffect> for OutputEffect {
    fn from(effect: types::OutputEffect) -> Self {
        match effect {
            types::OutputEffect::Answer(words) => Self::Answer(words),
            types::OutputEffect::Said(words) => Self::Said(words),
            types::OutputEffect::Refused { by } => Self::Refused { by },
            types::OutputEffect::Delegated(task) => Self::Delegated(task),
            types::OutputEffect::Asked(question) => Self::Asked(question),
            types::OutputEffect::Declined(question) => Self::Declined(question),
            types::OutputEffect::Expired(question) => Self::Expired(question),
        }
    }
}

impl From<types::ToolCall> for ToolCall {
    fn from(types::ToolCall { id, tool, arguments }: types::ToolCall) -> Self {
        Self { id, tool, arguments }
    }
}
