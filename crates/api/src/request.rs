//! What a model received.

use entourage_types::{AgentId, FailureClass, RunId, Sha256, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{ToolCall, schema};

/// The request of one model call, rebuilt from what is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelRequest {
    /// The run.
    #[schema(value_type = schema::RunId)]
    pub run: RunId,
    /// Which model call of the run, from 1; left out of decisions and summaries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The number of the item that holds the answer.
    pub item: u64,
    /// Whether the digest proves that this is what the server gave to the provider's adapter: the model, the system
    /// prompt, the tools, the messages and the options. It does not cover the bytes of the HTTP request that the
    /// adapter made of that.
    pub exact: bool,
    /// Why that is not proved; left out if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// How it was asked; left out if an earlier release did not record it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// What it has in common with the request before in its session; left out of the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<RequestBefore>,
    /// The model that was asked, as `provider::name`; null for the server's default.
    #[schema(required)]
    pub model: Option<String>,
    /// The prompt before the conversation.
    pub system: String,
    /// The tools on offer.
    pub tools: Vec<OfferedTool>,
    /// The conversation, oldest first.
    pub messages: Vec<ModelMessage>,
    /// Whether the model could call the tools.
    pub may_call: bool,
    /// Whether the model was allowed one call at most.
    pub one_call: bool,
    /// The JSON schema of the answer; null if there is none.
    #[schema(required)]
    pub output_schema: Option<Value>,
    /// The sampling temperature; null for the provider's own.
    #[schema(required)]
    pub temperature: Option<f64>,
    /// The most tokens that the model was allowed to answer with; null for the provider's own limit.
    #[schema(required)]
    pub max_tokens: Option<u32>,
}

/// How a model was asked, and how long that took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Asked {
    /// The digest of the request.
    #[schema(value_type = String)]
    pub sha256: Sha256,
    /// The model that was asked, if that is not the kind's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When the answered request was made.
    #[schema(value_type = schema::Time)]
    pub at: Time,
    /// When the first piece of the answer came; left out if it came whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    pub first_token: Option<Time>,
    /// How long it waited for the model's gate, in milliseconds.
    pub gate_ms: u64,
    /// The attempts before, which failed.
    pub failed: Vec<FailedTry>,
}

/// A request to a model that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailedTry {
    /// When it was made.
    #[schema(value_type = schema::Time)]
    pub at: Time,
    /// The model that was asked, if that is not the kind's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What sort of failure it was; left out where an earlier release recorded it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(value_type = Option<schema::FailureClass>)]
    pub class: Option<FailureClass>,
    /// Why it failed.
    pub error: String,
}

/// What a request has in common with the one before in its session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RequestBefore {
    /// The run of that request.
    #[schema(value_type = schema::RunId)]
    pub run: RunId,
    /// Its number there.
    pub number: u32,
    /// How many of its messages this request begins with; 0 if what comes before the messages differs.
    pub kept: usize,
    /// How many messages it had.
    pub messages: usize,
    /// Why this request does not begin with the whole of it; left out if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<PrefixBreak>,
}

/// Why a request does not begin with the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrefixBreak {
    /// Another model was asked.
    Model,
    /// The run began with another version of the kind.
    Kind,
    /// Other tools were offered.
    Tools,
    /// A digest replaced the oldest turns.
    Digest,
    /// The kind reads the latest messages only.
    Window,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// One entry of a conversation as the model reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ModelMessage {
    /// A message to the agent.
    User {
        /// The text.
        text: String,
    },
    /// A notification, such as a task's result or a summary of older messages.
    Notice {
        /// The text.
        text: String,
    },
    /// What the model reads beside the conversation.
    Context {
        /// The text.
        text: String,
    },
    /// An answer of the model.
    Assistant {
        /// The text.
        text: String,
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// The output of a call.
    Output {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
        /// The text.
        text: String,
    },
}

impl From<entourage_types::Asked> for Asked {
    fn from(asked: entourage_types::Asked) -> Self {
        let entourage_types::Asked {
            sha256,
            tools: _,
            model,
            max_tokens: _,
            at,
            first_token,
            gate_ms,
            failed,
            held_back: _,
        } = asked;
        let failed = failed.into_iter().map(FailedTry::from).collect();
        Self { sha256, model, at, first_token, gate_ms, failed }
    }
}

impl From<entourage_types::FailedTry> for FailedTry {
    fn from(entourage_types::FailedTry { at, model, class, error }: entourage_types::FailedTry) -> Self {
        Self { at, model, class, error }
    }
}
