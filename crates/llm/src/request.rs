//! Requests to a model and its replies: one request type, one reply type; adapters hide the providers'
//! quirks.

use std::sync::Arc;

use entourage_types::{Cost, ModelUse, Owner, ToolCall, ToolSpec, Usage};
use serde_json::Value;

/// One request to a model.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The model as `provider::name`; the engine's default if none is given.
    pub model: Option<String>,
    /// The stable prefix: byte-identical over a session, so that prompt caches hold.
    pub system: Arc<str>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Whether something was left out of the messages because of its length. No provider receives that; a weak
    /// model is offered what reads on only then.
    pub has_cuts: bool,
    /// The offered tools, in a stable order.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model may call them.
    pub tool_choice: ToolChoice,
    /// Whether to allow one call at most; only a hint, since not every provider supports it.
    pub one_call: bool,
    /// The schema that the answer's text must satisfy as JSON, if any.
    pub output_schema: Option<Arc<Value>>,
    /// Whether the answer may have fields that the schema does not name. A provider whose schemas allow none is then
    /// asked for a JSON object of any form; the prompt must say which, and contain the word JSON.
    pub open_schema: bool,
    /// The sampling temperature; by default the provider's own, or a low one for a weak model.
    pub temperature: Option<f64>,
    /// The maximum number of tokens in the answer.
    pub max_tokens: Option<u32>,
    /// Which request goes first if several wait for the same model.
    pub priority: Priority,
    /// The owner of the request: owners take turns if several wait for the same model.
    pub owner: Option<Owner>,
}

impl Request {
    /// Whether there are tools that the model may not call.
    #[must_use]
    pub fn forbids_calls(&self) -> bool {
        self.tool_choice == ToolChoice::None && !self.tools.is_empty()
    }
}

/// Whether a model may call the offered tools. They stay in the request either way: this keeps the prefix of
/// the request stable, and some providers refuse a conversation with calls of unknown tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model decides.
    #[default]
    Auto,
    /// No: the model answers with text.
    None,
}

/// Which request goes first if several wait for the same model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A person asks for this very attempt: it is sent even while the provider wants a pause.
    Now,
    /// A person waits for the answer.
    #[default]
    Person,
    /// No person is waiting right now.
    Background,
}

/// One entry of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A message from the model's user or delegating agent.
    User(String),
    /// A notification: a task's result, a refused answer, a summary of earlier messages. Providers receive it
    /// as a user message, since they know no third role.
    Notice(String),
    /// What the model reads beside the conversation: the time, notes. It is no message of the user, although
    /// providers receive it as one, together with the message of the user that follows it.
    Context(String),
    /// An answer of the model.
    Assistant {
        /// Its text.
        text: String,
        /// Its tool calls.
        calls: Vec<ToolCall>,
    },
    /// The output of a call.
    Output {
        /// The call's id.
        call: String,
        /// The tool's name.
        tool: String,
        /// The text.
        text: String,
    },
}

/// One answer of a model. It has text, or calls, or both.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// Its calls, in order, with fresh ids of our own.
    pub calls: Vec<ToolCall>,
    /// The model that answered, as `provider::name`.
    pub model: String,
    /// The token usage that the provider reports.
    pub usage: Usage,
    /// The price, if it is known.
    pub cost: Option<Cost>,
}

impl Reply {
    /// Returns the usage of this answer.
    #[must_use]
    pub fn used(&self) -> ModelUse {
        ModelUse { model: self.model.clone(), usage: self.usage, cost: self.cost }
    }
}
