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

/// What a provider counts beside the texts: of a request, and of each message, tool and call in it.
const BESIDE_REQUEST: usize = 512;
const BESIDE_PART: usize = 16;

impl Request {
    /// Returns the most tokens that a provider counts for it: a token that it takes in has at least a byte. Those of
    /// the answer are not included if it has no limit.
    #[must_use]
    pub fn worst_case(&self) -> Usage {
        let tools = self.tools.iter().map(|tool| {
            BESIDE_PART + tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
        });
        let schema = self.output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
        let messages = self.messages.iter().map(Message::bytes).sum::<usize>();
        let input = BESIDE_REQUEST + self.system.len() + messages + tools.sum::<usize>() + schema;
        let output = self.max_tokens.unwrap_or_default().into();
        Usage { input: input as u64, output, ..Usage::default() }
    }

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

impl Message {
    fn bytes(&self) -> usize {
        let texts = match self {
            Self::User(text) | Self::Notice(text) | Self::Context(text) => text.len(),
            Self::Assistant { text, calls } => {
                let call = |call: &ToolCall| BESIDE_PART + call.tool.len() + call.arguments.to_string().len();
                text.len() + calls.iter().map(call).sum::<usize>()
            }
            Self::Output { tool, text, .. } => tool.len() + text.len(),
        };
        BESIDE_PART + texts
    }
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

#[cfg(test)]
mod tests {
    use entourage_types::CallId;
    use serde_json::json;

    use super::*;

    /// Whatever a request holds is counted: each part is as long as no other one.
    #[test]
    fn a_request_takes_in_at_least_a_byte_for_each_token() {
        let part = |length: usize| "é".repeat(length / 2);
        let call = ToolCall { id: CallId::new(), tool: part(2_000), arguments: json!({ "a": part(4_000) }) };
        let messages = vec![
            Message::User(part(10_000)),
            Message::Notice(part(20_000)),
            Message::Context(part(40_000)),
            Message::Assistant { text: part(80_000), calls: vec![call] },
            Message::Output { call: "id".into(), tool: part(100_000), text: part(200_000) },
        ];
        let tool = ToolSpec::new(part(400_000), part(800_000), json!({ "b": part(1_000_000) }));
        let request = Request {
            system: part(2_000_000).into(),
            messages,
            tools: [tool].into(),
            output_schema: Some(Arc::new(json!({ "c": part(4_000_000) }))),
            max_tokens: Some(70),
            ..Request::default()
        };
        let parts = 6_000 + 10_000 + 20_000 + 40_000 + 80_000 + 300_000 + 1_200_000 + 1_000_000 + 6_000_000;
        let Usage { input, output, .. } = request.worst_case();
        assert!((parts..parts + 2_000).contains(&input), "{input} of {parts}");
        assert_eq!((output, Request { max_tokens: None, ..request }.worst_case().output), (70, 0));
    }
}
