//! Answers of agencies, in the terms of the library that they came from.

use entourage_types::{AgentId, CallId, RunId, StopReason, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{Level, Question, Tally, schema};

/// The outcome of a message to an agency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgencyResponse {
    /// The answer; null if the run failed, or if a question must be answered first.
    #[schema(required)]
    pub final_output: Option<String>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// The agent that answered.
    pub agent: String,
    /// The chat: name it in the next message to continue it.
    pub chat_id: String,
    /// The run; null if a question must be answered first.
    #[schema(value_type = Option<schema::RunId>, required)]
    pub run_id: Option<RunId>,
    /// What this run produced, in order.
    pub generated_items: Vec<RunItem>,
    /// The runs that worked for it, in the order of their calls, each with what it produced.
    pub nested: Vec<NestedRun>,
    /// What the models used and cost so far, nested runs included.
    pub usage: Tally,
    /// The questions that must be answered before the run continues.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schema(required = false)]
    pub questions: Vec<Question>,
}

/// Why a run gave no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunError {
    /// A stable code.
    #[schema(value_type = schema::StopReason)]
    pub code: StopReason,
    /// A sentence for people.
    pub text: String,
}

/// A run that worked for another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NestedRun {
    #[serde(flatten)]
    #[allow(missing_docs, reason = "the description shows its fields as those of the whole")]
    pub origin: Origin,
    /// What it produced, in order.
    pub generated_items: Vec<RunItem>,
    /// What its own model calls used and cost.
    pub usage: Tally,
    /// The answer that its caller got; null if it failed.
    #[schema(required)]
    pub final_output: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
}

/// Where an item comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Origin {
    /// The agent whose thread it is.
    pub agent: String,
    /// The sender in that thread: another agent, `user`, or the name that the person gave.
    pub caller: String,
    /// How many agents are between this one and the person.
    pub depth: u16,
    /// The run.
    #[schema(value_type = schema::RunId)]
    pub run_id: RunId,
    /// The run whose call it works for.
    #[schema(value_type = Option<schema::RunId>, required)]
    pub parent_run_id: Option<RunId>,
    /// The thread, which is an agent of the chat's tree.
    #[schema(value_type = schema::AgentId)]
    pub thread: AgentId,
}

/// One item of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunItem {
    #[serde(flatten)]
    #[allow(missing_docs, reason = "the description shows its fields as those of the whole")]
    pub origin: Origin,
    /// When it was committed.
    #[schema(value_type = schema::Time)]
    pub at: Time,
    #[serde(flatten)]
    #[allow(missing_docs, reason = "the description shows its fields as those of the whole")]
    pub body: RunItemBody,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type")]
#[allow(clippy::enum_variant_names, reason = "these are the names on the wire")]
pub enum RunItemBody {
    /// A message to the agent.
    MessageInputItem {
        /// The text.
        text: String,
    },
    /// A message of the agent.
    MessageOutputItem {
        /// The text.
        text: String,
    },
    /// A call that the agent asked for.
    ToolCallItem {
        /// The call.
        #[schema(value_type = schema::CallId)]
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The arguments as the model gave them.
        arguments: Value,
    },
    /// The output of a call.
    ToolCallOutputItem {
        /// The call that it answers.
        #[schema(value_type = schema::CallId)]
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The text that the model reads.
        output: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A notice of the server: a guardrail's verdict, a limit that was reached.
    NoticeItem {
        /// How serious it is.
        level: Level,
        /// A stable code.
        code: String,
        /// With `last_call` and `run_ended`: the limit that was reached, or why the run ended.
        #[schema(value_type = Option<schema::StopReason>)]
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<StopReason>,
        /// A sentence for people.
        text: String,
    },
}

/// A piece of an answer under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunText {
    #[serde(flatten)]
    #[allow(missing_docs, reason = "the description shows its fields as those of the whole")]
    pub origin: Origin,
    /// The piece; null if all pieces since the last item of this thread are void.
    #[schema(required)]
    pub text: Option<String>,
}

/// A message to an agency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Respond {
    /// The text.
    #[schema(min_length = 1, pattern = r"\S")]
    pub message: String,
    /// The name of the chat, of your choice, except `.` and `..`, which no path can hold; later messages with
    /// the same name continue the chat. A new chat by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255, pattern = r"[^\s.]|\s\.|\.\s|\.{3}")]
    pub chat_id: Option<String>,
    /// The entry point to write to; by default the agency's first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub agent: Option<String>,
    /// The name of the sender; by default the user. Each name has a thread of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200, pattern = r"^[^<#\n]*[^<#\s][^<#\n]*$")]
    pub sender_name: Option<String>,
    /// The most model calls of this run, unless the agent's own limit is lower.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// How many agents are between this run and the person who started the work, if the caller is an agent
    /// itself; 0 by default.
    #[serde(default)]
    pub current_depth: u16,
    /// How deep agents may delegate the work; by default as deep as each agent may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_recursion_depth: Option<u16>,
    /// A guardrail of the server that the answer must pass in addition to those of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub response_validator: Option<String>,
    /// Return the final text alone, as plain text.
    #[serde(default)]
    pub text_only: bool,
    /// Return server-sent events instead of one response.
    #[serde(default)]
    pub stream: bool,
    /// Whether the run continues after the client disconnects; otherwise disconnecting stops it. By default
    /// it continues if there is an `Idempotency-Key`, since a client that sends one means to ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detached: Option<bool>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use super::*;

    #[test]
    fn an_item_of_a_response_is_read_as_written() {
        let origin = Origin {
            agent: "assistant".to_owned(),
            caller: "user".to_owned(),
            depth: 0,
            run_id: RunId::new(),
            parent_run_id: None,
            thread: AgentId::new(),
        };
        let (call_id, tool) = (CallId::new(), "read_file".to_owned());
        let body = RunItemBody::ToolCallItem { call_id, tool, arguments: Value::Null };
        let item = RunItem { origin, at: Time::now(), body };
        let written = serde_json::to_string(&item).unwrap();
        assert_eq!(serde_json::from_str::<RunItem>(&written).unwrap(), item);
    }
}
