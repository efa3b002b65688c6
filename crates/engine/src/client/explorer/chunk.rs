//! What the stream of an exploration consists of: parts of the AI SDK's `fullStream` of version 4 (`TextStreamPart`),
//! and parts of ours.

use entourage_types::{AgentState, CallId, QuestionId, Time, Usage};
use serde::Serialize;
use serde_json::Value;

/// A part of the stream of an exploration (S3-R071). Each names its agent, as its callers know it.
///
/// The text of an agent's answer is what its `text-delta` parts add up to from a `step-start` to the `step-finish`. A
/// later `step-start` of the same agent without a `step-finish` before it says that the attempt failed: drop what came
/// of that agent since the earlier one. The same holds for what is left without a `step-finish` at the end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Chunk {
    /// A piece of an answer's text (S3-R072).
    TextDelta {
        /// Whose.
        agent_id: String,
        /// The piece.
        text_delta: String,
    },
    /// A piece of the model's reasoning. It is shown while it arrives, and kept nowhere: a client that was away has
    /// missed it.
    Reasoning {
        /// Whose.
        agent_id: String,
        /// The piece.
        text_delta: String,
    },
    /// A tool is called (S3-R074).
    ToolCall {
        /// Who calls it.
        agent_id: String,
        /// The call.
        tool_call_id: CallId,
        /// The tool.
        tool_name: String,
        /// The arguments as the model gave them: an object, or a string that is not JSON.
        args: Value,
    },
    /// A tool has returned (S3-R075).
    ToolResult {
        /// Whose call it was.
        agent_id: String,
        /// The call.
        tool_call_id: CallId,
        /// The tool.
        tool_name: String,
        /// The arguments of the call.
        args: Value,
        /// The text that the model reads.
        result: String,
        /// Whether the call failed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// An answer begins, or begins again: then what came of this agent since its last `step-start` is void.
    StepStart {
        /// Whose.
        agent_id: String,
        /// The answer.
        message_id: String,
        /// The request is not shown.
        request: NoData,
        /// There are none.
        warnings: [(); 0],
    },
    /// An answer is complete.
    StepFinish {
        /// Whose.
        agent_id: String,
        /// The answer.
        message_id: String,
        /// The request is not shown.
        request: NoData,
        /// Which model answered, and when.
        response: Response,
        /// There are none.
        warnings: [(); 0],
        /// What the answer used; nothing if a program wrote it.
        usage: TokenUsage,
        /// Why it ended.
        finish_reason: FinishReason,
        /// No answer continues the one before it.
        is_continued: bool,
        /// There is none.
        provider_metadata: NoData,
    },
    /// The stream is over.
    Finish {
        /// The agent that was followed.
        agent_id: String,
        /// How it ended.
        finish_reason: FinishReason,
        /// What its runs and those of all agents below it used, decisions included.
        usage: TokenUsage,
        /// The last answer of the agent.
        response: Response,
        /// There is none.
        provider_metadata: NoData,
    },
    /// The agent that was followed failed (S3-R075).
    Error {
        /// That agent.
        agent_id: String,
        /// A sentence for people.
        error: String,
    },
    /// The state of an agent has changed (S3-R073).
    AgentState {
        /// Whose.
        agent_id: String,
        /// The new state.
        state: AgentState,
    },
    /// An agent asks the user.
    UserQuery {
        /// Who asks.
        agent_id: String,
        /// The question.
        query_id: QuestionId,
        /// Its text.
        prompt: String,
    },
    /// A question is closed.
    UserAnswer {
        /// Who asked.
        agent_id: String,
        /// The question.
        query_id: QuestionId,
        /// The answer; null if the user declined, or did not answer in time.
        response: Option<String>,
    },
    /// The agent that was followed has ended (S3-R080).
    Result {
        /// That agent.
        agent_id: String,
        /// Its final text; null if it was deleted.
        result: Option<String>,
        /// What else there is to know.
        metadata: ResultMetadata,
    },
}

/// An empty object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct NoData {}

/// Which model answered, and when.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The answer.
    pub id: String,
    /// When it was complete.
    pub timestamp: Time,
    /// The model, as `provider::name`; empty if a program wrote the answer.
    pub model_id: String,
}

/// Tokens, in the words of the AI SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens that the model read.
    pub prompt_tokens: u64,
    /// Tokens that it wrote.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

/// Why an answer, or a stream, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// It is complete.
    Stop,
    /// Tools are called.
    ToolCalls,
    /// The agent failed.
    Error,
    /// The agent was deleted.
    Other,
}

/// What else there is to know of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResultMetadata {
    /// The children of the agent, oldest first.
    pub subagents: Vec<Subagent>,
}

/// What a child came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subagent {
    /// The child.
    pub agent_id: String,
    /// Its final text, if it has one.
    pub result: Option<String>,
    /// Its state.
    pub status: AgentState,
}

impl Chunk {
    /// The agent that it names.
    #[must_use]
    pub fn agent_id(&self) -> &str {
        match self {
            Self::TextDelta { agent_id, .. }
            | Self::Reasoning { agent_id, .. }
            | Self::ToolCall { agent_id, .. }
            | Self::ToolResult { agent_id, .. }
            | Self::StepStart { agent_id, .. }
            | Self::StepFinish { agent_id, .. }
            | Self::Finish { agent_id, .. }
            | Self::Error { agent_id, .. }
            | Self::AgentState { agent_id, .. }
            | Self::UserQuery { agent_id, .. }
            | Self::UserAnswer { agent_id, .. }
            | Self::Result { agent_id, .. } => agent_id,
        }
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let (prompt_tokens, completion_tokens) = (usage.input, usage.output);
        Self { prompt_tokens, completion_tokens, total_tokens: usage.tokens() }
    }
}
