//! What a stream shows of an agent at work beside its messages.

use entourage_api::schema;
use entourage_types::{CallId, Output, ToolCall};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// So many characters of what a tool returned are shown.
const SHOWN: usize = 2_000;

/// A piece of what the model writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Think)]
pub(crate) struct ThinkView {
    /// The piece.
    pub(crate) text: String,
    /// True if what was written so far is void, and the model begins again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reset: bool,
}

/// A tool is used.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = ToolStart)]
pub(crate) struct ToolStartView {
    /// The use of the tool.
    #[schema(value_type = schema::CallId)]
    tool_call_id: CallId,
    /// The tool.
    tool_name: String,
    /// What it is given.
    #[schema(value_type = Object)]
    input: Value,
}

/// What the use of a tool came to.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = ToolComplete)]
pub(crate) struct ToolCompleteView {
    /// The use of the tool.
    #[schema(value_type = schema::CallId)]
    tool_call_id: CallId,
    /// The tool.
    tool_name: String,
    /// What came of it.
    #[serde(flatten)]
    result: ToolResultView,
}

/// What a tool returned, at most 2,000 characters of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ToolOutcome)]
pub(crate) struct ToolResultView {
    /// Whether it did what it was to do.
    success: bool,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    observation: Option<String>,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ToolStartView {
    pub(crate) fn of(call: &ToolCall) -> Self {
        Self { tool_call_id: call.id, tool_name: call.tool.clone(), input: call.arguments.clone() }
    }
}

impl ToolCompleteView {
    pub(crate) fn of(output: &Output) -> Self {
        let text = Some(output.text.chars().take(SHOWN).collect());
        let (observation, error) = if output.error { (None, text) } else { (text, None) };
        let result = ToolResultView { success: !output.error, observation, error };
        Self { tool_call_id: output.call, tool_name: output.tool.clone(), result }
    }
}
