//! A request as the body of a chat completion, serialized from references: the conversation is not copied.
//! Equal requests give equal bytes.

use std::borrow::Cow;

use entourage_types::{ToolCall, ToolSpec};
use genai::chat::{JsonSchemaDialect, sanitize_json_schema};
use serde::{Serialize, Serializer, ser::SerializeSeq};
use serde_json::Value;

use crate::{Message, Provider, Request, remote::arguments};

/// The body. Fields that stay the same over a session come first.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Typed<Function<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    messages: Messages<'a>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { json_schema: NamedSchema<'a> },
    JsonObject,
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: Cow<'a, Value>,
}

/// A value "of type function".
#[derive(Serialize)]
struct Typed<T> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<entourage_types::CallId>,
    function: T,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct Entry<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Typed<Called<'a>>>,
}

/// The conversation, preceded by the system prompt. What the model reads beside the conversation is part of
/// the message of the user that follows it, because some servers want the roles to alternate.
struct Messages<'a>(&'a Request);

impl<'a> Body<'a> {
    pub(super) fn new(provider: Provider, model: &'a str, request: &'a Request) -> Self {
        // OpenAI's newer models accept only the new parameter, most other servers only the old one.
        let new_word = provider == Provider::OpenAi;
        Self {
            model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            temperature: request.temperature,
            max_tokens: request.max_tokens.filter(|_| !new_word),
            max_completion_tokens: request.max_tokens.filter(|_| new_word),
            response_format: request.output_schema.as_deref().map(|schema| format(provider, request, schema)),
            tools: request.tools.iter().map(function).collect(),
            tool_choice: request.forbids_calls().then_some("none"),
            parallel_tool_calls: (request.one_call && !request.tools.is_empty()).then_some(false),
            messages: Messages(request),
        }
    }
}

fn format<'a>(provider: Provider, request: &Request, schema: &'a Value) -> Format<'a> {
    let schema = match provider {
        // Local servers follow a schema as it is; OpenAI requires every property to be required.
        Provider::Ollama | Provider::Compatible => Cow::Borrowed(schema),
        _ if request.open_schema => return Format::JsonObject,
        _ => Cow::Owned(sanitize_json_schema(schema, JsonSchemaDialect::OpenAiStrict)),
    };
    Format::JsonSchema { json_schema: NamedSchema { name: "answer", strict: !request.open_schema, schema } }
}

fn function(spec: &ToolSpec) -> Typed<Function<'_>> {
    let function =
        Function { name: &spec.name, description: &spec.description, parameters: &spec.parameters };
    Typed { r#type: "function", id: None, function }
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Request { system, messages, .. } = self.0;
        let mut list = serializer.serialize_seq(None)?;
        if !system.is_empty() {
            list.serialize_element(&Entry::of("system", &**system))?;
        }
        let mut context: Option<Cow<'_, str>> = None;
        for message in messages {
            match message {
                Message::Context(text) => context = Some(joined(context, text)),
                Message::User(text) | Message::Notice(text) => {
                    list.serialize_element(&Entry::of("user", joined(context.take(), text)))?;
                }
                message => {
                    if let Some(context) = context.take() {
                        list.serialize_element(&Entry::of("user", context))?;
                    }
                    if let Some(entry) = Entry::from(message) {
                        list.serialize_element(&entry)?;
                    }
                }
            }
        }
        if let Some(context) = context {
            list.serialize_element(&Entry::of("user", context))?;
        }
        list.end()
    }
}

/// Returns what the model reads before a text of the user, and the text.
fn joined<'a>(context: Option<Cow<'a, str>>, text: &'a str) -> Cow<'a, str> {
    match context {
        Some(context) => Cow::Owned(format!("{context}\n\n{text}")),
        None => Cow::Borrowed(text),
    }
}

impl<'a> Entry<'a> {
    fn of(role: &'static str, content: impl Into<Cow<'a, str>>) -> Self {
        Self { role, tool_call_id: None, content: content.into(), tool_calls: Vec::new() }
    }

    /// Returns the conversation's entry; none for an empty one, which servers refuse.
    fn from(message: &'a Message) -> Option<Self> {
        match message {
            Message::User(text) | Message::Notice(text) | Message::Context(text) => {
                Some(Self::of("user", text))
            }
            Message::Assistant { text, calls } if text.is_empty() && calls.is_empty() => None,
            Message::Assistant { text, calls } => {
                let tool_calls = calls.iter().map(called).collect();
                Some(Self { tool_calls, ..Self::of("assistant", text) })
            }
            Message::Output { call, text, .. } => {
                Some(Self { tool_call_id: Some(call), ..Self::of("tool", text) })
            }
        }
    }
}

fn called(call: &ToolCall) -> Typed<Called<'_>> {
    let called = Called { name: &call.tool, arguments: arguments::write(&call.arguments).to_string() };
    Typed { r#type: "function", id: Some(call.id), function: called }
}
