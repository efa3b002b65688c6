//! What goes to a model and what comes back: one request type, one reply type; providers' quirks
//! stay behind their adapters.

use std::sync::Arc;

use entourage_types::{Cost, ModelUse, Owner, ToolCall, ToolSpec, Usage};
use serde_json::Value;

/// One request to a model.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Which model, as `provider::name`; the engine's choice when none is given.
    pub model: Option<String>,
    /// The stable prefix: byte-identical over a session, so that prompt caches hold.
    pub system: Arc<str>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// What changes from request to request (time, notes); placed after everything else, or before what was
    /// asked for last where the model is weak: it would take what stands last for what it is asked.
    pub tail: Option<String>,
    /// The tools on offer, in a stable order.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may call them.
    pub tool_choice: ToolChoice,
    /// Whether it may make one call at most; a request, since not every provider takes it.
    pub one_call: bool,
    /// The schema that the answer's text must meet as JSON, when it must.
    pub output_schema: Option<Arc<Value>>,
    /// The sampling temperature; the provider's default otherwise, or a low one where the model is weak.
    pub temperature: Option<f64>,
    /// At most this many tokens in the answer.
    pub max_tokens: Option<u32>,
    /// Who goes first where several wait for the same model.
    pub priority: Priority,
    /// On whose behalf: owners take turns where several wait for the same model.
    pub owner: Option<Owner>,
}

impl Request {
    /// Whether there are tools, and the model may not call them.
    #[must_use]
    pub fn forbids_calls(&self) -> bool {
        self.tool_choice == ToolChoice::None && !self.tools.is_empty()
    }
}

/// Whether a model may call the tools on offer. They stay in the request either way: what comes first of
/// a request stays the same, and some providers refuse calls in a conversation whose tools they do not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// No: it answers in words.
    None,
}

/// Who goes first where several wait for the same model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A person asks for this very attempt: it is made also while the provider wants a pause.
    Now,
    /// A person waits for the answer.
    #[default]
    Person,
    /// Nobody waits for it right now.
    Background,
}

/// One entry of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Who it works for speaks to the model.
    User(String),
    /// What came to pass: a task's result, an answer that was refused, what was said earlier in short. On the wire it
    /// stands where the user's words do, since providers know no third speaker.
    Notice(String),
    /// The model spoke.
    Assistant {
        /// What it said.
        text: String,
        /// What it asked for.
        calls: Vec<ToolCall>,
    },
    /// What a call returned.
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
    /// What it said.
    pub text: String,
    /// What it asks for, in order. Their ids are fresh and ours.
    pub calls: Vec<ToolCall>,
    /// The model that answered, as `provider::name`.
    pub model: String,
    /// Its tokens, as the provider reports them.
    pub usage: Usage,
    /// Its price, when one is known.
    pub cost: Option<Cost>,
}

impl Reply {
    /// What it used.
    #[must_use]
    pub fn used(&self) -> ModelUse {
        ModelUse { model: self.model.clone(), usage: self.usage, cost: self.cost }
    }
}
