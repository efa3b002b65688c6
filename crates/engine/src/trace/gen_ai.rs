//! The names of OpenTelemetry's conventions for generative AI, and ours beside them. The conventions
//! still change; this is the one place that knows them.

/// What a span is about: [`INVOKE_AGENT`], [`CHAT`] or [`EXECUTE_TOOL`], and what a program does itself, [`LOAD`] and
/// [`STORE`].
pub const OPERATION: &str = "gen_ai.operation.name";
/// A run of an agent.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// One request to a model.
pub const CHAT: &str = "chat";
/// One call of a tool.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// The tree, by its root's id.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// The agent.
pub const AGENT_ID: &str = "gen_ai.agent.id";
/// Its kind.
pub const AGENT_NAME: &str = "gen_ai.agent.name";

/// The provider of the model.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The model that was asked.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The model that answered.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Tokens in, those from the cache included.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens in that came from the cache.
pub const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Tokens out.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";

/// The tool.
pub const TOOL: &str = "gen_ai.tool.name";
/// The call.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";

/// What the model answered. Content: only if the operator wants it.
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// What a tool was called with. Content.
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// What it returned. Content.
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";

/// The sort of error, in one word.
pub const ERROR_TYPE: &str = "error.type";

/// The run.
pub const RUN: &str = "entourage.run.id";
/// Why the run stopped.
pub const STOP_REASON: &str = "entourage.run.stop_reason";
/// What was paid, in billionths of a US dollar.
pub const COST: &str = "entourage.cost_nanos";
/// Which attempt of a model call it was, from 1.
pub const ATTEMPT: &str = "entourage.attempt";
/// The step of the run's program that it was.
pub const STEP: &str = "entourage.step";
/// What a program read before it asked a model. An operation of ours.
pub const LOAD: &str = "load";
/// What a program committed, with its answer. An operation of ours.
pub const STORE: &str = "store";
