//! What the stream of an exploration consists of: parts of the AI SDK's `fullStream` of version 4 (`TextStreamPart`),
//! and parts of ours.

use std::{fmt, sync::Arc};

use entourage_types::{AgentState, CallId, QuestionId, Time, Usage};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

/// The arguments of a call. They are kept as JSON text, which takes a small part of the memory of their values.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct Arguments(Arc<RawValue>);

impl Arguments {
    pub(super) fn of(value: &Value) -> Self {
        // A value is always written.
        Self(serde_json::value::to_raw_value(value).unwrap_or_default().into())
    }

    /// Their value: an object, or a string that is not JSON.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As JSON.
impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}

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
        args: Arguments,
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
        args: Arguments,
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

#[cfg(test)]
mod tests {
    use entourage_types::Usage;
    use serde_json::json;

    use super::*;

    /// What the type checker of the AI SDK is shown (`tests/services/ai-sdk.sh`) is what is sent.
    ///
    /// Shows: S3-R075.
    #[test]
    fn one_chunk_of_each_kind_is_as_it_is_checked_in() {
        let checked_in = include_str!("../../../../../tests/services/ai-sdk/chunks.json");
        let checked_in: Vec<Value> = serde_json::from_str(checked_in).unwrap();
        let agent_id = || "scout".to_owned();
        let message_id = || "agt_0000000000000000000000000000000a.7".to_owned();
        let call: CallId = "cal_0000000000000000000000000000000b".parse().unwrap();
        let question: QuestionId = "qst_0000000000000000000000000000000c".parse().unwrap();
        let response = || Response {
            id: message_id(),
            timestamp: serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap(),
            model_id: "anthropic::claude".to_owned(),
        };
        let usage = TokenUsage::from(Usage { input: 7, output: 3, ..Usage::default() });
        let (args, tool_name) = (Arguments::of(&json!({"path": "a.md"})), "read_file".to_owned());
        let child = Subagent {
            agent_id: "child".to_owned(),
            result: Some("found".to_owned()),
            status: AgentState::Completed,
        };
        let each = [
            Chunk::AgentState { agent_id: agent_id(), state: AgentState::Running },
            Chunk::StepStart {
                agent_id: agent_id(),
                message_id: message_id(),
                request: NoData {},
                warnings: [],
            },
            Chunk::Reasoning { agent_id: agent_id(), text_delta: "Perhaps".to_owned() },
            Chunk::TextDelta { agent_id: agent_id(), text_delta: "It is".to_owned() },
            Chunk::ToolCall {
                agent_id: agent_id(),
                tool_call_id: call,
                tool_name: tool_name.clone(),
                args: args.clone(),
            },
            Chunk::ToolResult {
                agent_id: agent_id(),
                tool_call_id: call,
                tool_name,
                args,
                result: "no such file".to_owned(),
                is_error: true,
            },
            Chunk::StepFinish {
                agent_id: agent_id(),
                message_id: message_id(),
                request: NoData {},
                response: response(),
                warnings: [],
                usage,
                finish_reason: FinishReason::ToolCalls,
                is_continued: false,
                provider_metadata: NoData {},
            },
            Chunk::UserQuery { agent_id: agent_id(), query_id: question, prompt: "Which one?".to_owned() },
            Chunk::UserAnswer { agent_id: agent_id(), query_id: question, response: None },
            Chunk::Error { agent_id: agent_id(), error: "the model failed".to_owned() },
            Chunk::Result {
                agent_id: agent_id(),
                result: None,
                metadata: ResultMetadata { subagents: vec![child] },
            },
            Chunk::Finish {
                agent_id: agent_id(),
                finish_reason: FinishReason::Error,
                usage,
                response: response(),
                provider_metadata: NoData {},
            },
        ];
        let each: Vec<Value> = each.iter().map(|chunk| serde_json::to_value(chunk).unwrap()).collect();
        assert_eq!(each, checked_in);
    }
}
