//! Our request as `genai` takes it: equal requests give equal bytes, and nothing is copied that
//! can be moved.

use entourage_types::{ToolCall, ToolSpec};
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, JsonSpec, MessageContent,
    MessageOptions, ReasoningEffort, Tool, ToolCall as WireCall, ToolResponse,
};
use serde_json::{Value, json};

use crate::{Connection, Message, Provider, Request};

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Anthropic,
    Chat,
    Responses,
    Ollama,
}

/// What is sent.
pub(super) struct Outgoing {
    pub(super) wire: Wire,
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
}

/// Translates a request.
pub(super) fn prepare(provider: Provider, connection: &Connection, request: Request) -> Outgoing {
    let wire = match provider {
        Provider::Anthropic => Wire::Anthropic,
        Provider::OpenAiResp => Wire::Responses,
        // Ollama's own wire takes no schema through `genai`; its chat completions do.
        Provider::Ollama if request.output_schema.is_none() => Wire::Ollama,
        _ => Wire::Chat,
    };
    let options = options(provider, wire, connection, &request);
    Outgoing { wire, chat: chat(wire, request), options }
}

fn options(provider: Provider, wire: Wire, connection: &Connection, request: &Request) -> ChatOptions {
    let mut options = ChatOptions {
        temperature: request.temperature,
        max_tokens: request.max_tokens,
        capture_usage: Some(true),
        capture_tool_calls: Some(true),
        stream_header_timeout: Some(connection.header_timeout()),
        stream_read_timeout: Some(connection.silence_timeout()),
        ..ChatOptions::default()
    };
    match wire {
        // Thinking, on by default in newer models, excludes a temperature.
        Wire::Anthropic if request.temperature.is_some() => {
            options.reasoning_effort = Some(ReasoningEffort::Zero);
        }
        Wire::Chat | Wire::Responses => {
            // Without an effort, `genai` reads one from the end of names such as `qwen-max` and
            // cuts it off; a budget is not sent on these wires and leaves the name alone.
            options.reasoning_effort = Some(ReasoningEffort::Budget(0));
            // Without an intent to cache, `genai` switches the cache of newer models off; this
            // one is not sent itself.
            options.cache_control = Some(CacheControl::Ephemeral5m);
        }
        Wire::Anthropic | Wire::Ollama => {}
    }
    if let Some(schema) = &request.output_schema {
        match provider {
            // Local servers follow a schema as it is; `genai` would make it as strict as OpenAI
            // needs it, with every property required.
            Provider::Ollama | Provider::Compatible => {
                let format = json!({"name": "answer", "strict": true, "schema": schema});
                let format = json!({"response_format": {"type": "json_schema", "json_schema": format}});
                options.extra_body = Some(format);
            }
            _ => options.response_format = Some(JsonSpec::new("answer", (**schema).clone()).into()),
        }
    }
    options
}

fn chat(wire: Wire, request: Request) -> ChatRequest {
    let Request { system, messages, tail, tools, .. } = request;
    let mut chat = ChatRequest::new(Vec::with_capacity(messages.len() + 2));
    if !system.is_empty() {
        if wire == Wire::Anthropic {
            // As a message, because only a message can carry the cache mark.
            chat.messages.push(cached(ChatMessage::system(&*system)));
        } else {
            chat.system = Some(system.as_ref().into());
        }
    }
    for message in messages {
        push(wire, &mut chat.messages, message);
    }
    if wire == Wire::Anthropic
        && let Some(last) = chat.messages.pop()
    {
        chat.messages.push(cached(last));
    }
    if let Some(tail) = tail {
        push_tail(wire, &mut chat.messages, tail);
    }
    if !tools.is_empty() {
        chat.tools = Some(tools.iter().map(|tool| wire_tool(wire, tool)).collect());
    }
    chat
}

fn push(wire: Wire, messages: &mut Vec<ChatMessage>, message: Message) {
    match message {
        Message::User(text) => messages.push(ChatMessage::user(text)),
        Message::Assistant { text, calls } => {
            let mut parts = Vec::with_capacity(calls.len() + 1);
            // Some providers refuse an empty text.
            if !text.is_empty() {
                parts.push(ContentPart::Text(text));
            }
            parts.extend(calls.into_iter().map(|call| ContentPart::ToolCall(wire_call(wire, call))));
            if !parts.is_empty() {
                messages.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
            }
        }
        Message::Output { call, text, .. } => {
            let output = ToolResponse::new(call, text);
            // Anthropic wants the outputs of one turn in one message; the other wires make
            // one of each (and `genai` loses all but one on Ollama's).
            match messages.last_mut() {
                Some(last) if wire == Wire::Anthropic && last.content.contains_tool_response() => {
                    last.content.push(ContentPart::ToolResponse(output));
                }
                _ => messages.push(ChatMessage::from(output)),
            }
        }
    }
}

/// What changes from request to request comes last, so that all before it stays cached. It joins
/// a user's message, because some servers want the roles to alternate; on Anthropic's wire it
/// stays apart, because the mark on the message before it must not cover it.
fn push_tail(wire: Wire, messages: &mut Vec<ChatMessage>, tail: String) {
    match messages.last_mut() {
        Some(last) if wire != Wire::Anthropic && last.role == genai::chat::ChatRole::User => {
            last.content.push(ContentPart::Text(if wire == Wire::Ollama {
                format!("\n\n{tail}")
            } else {
                tail
            }));
        }
        _ => messages.push(ChatMessage::user(tail)),
    }
}

/// The same message with a mark up to which the provider caches.
fn cached(message: ChatMessage) -> ChatMessage {
    message.with_options(MessageOptions::from(CacheControl::Ephemeral))
}

fn wire_tool(wire: Wire, spec: &ToolSpec) -> Tool {
    let mut tool = Tool::new(wire_name(wire, spec.name.clone()))
        .with_description(spec.description.as_str())
        .with_schema(spec.parameters.clone());
    if wire == Wire::Responses {
        // Left unsaid, optional arguments would become required ones.
        tool.strict = Some(false);
    }
    tool
}

fn wire_call(wire: Wire, call: ToolCall) -> WireCall {
    // Arguments that were not an object were answered with an error; providers refuse to read
    // them again unless they are one.
    let arguments = match call.arguments {
        Value::Object(arguments) => Value::Object(arguments),
        other => json!({"arguments": other}),
    };
    WireCall {
        call_id: call.id.to_string(),
        fn_name: wire_name(wire, call.tool),
        fn_arguments: arguments,
        thought_signatures: None,
    }
}

/// The name of our search tool where `genai` would take it for the provider's own.
const OURS: &str = "web_search";
const DISGUISED: &str = "web_search_tool";

fn wire_name(wire: Wire, name: String) -> String {
    if name == OURS && matches!(wire, Wire::Anthropic | Wire::Responses) { DISGUISED.into() } else { name }
}

/// The tool's name as we know it.
pub(super) fn our_name(wire: Wire, name: String) -> String {
    if name == DISGUISED && matches!(wire, Wire::Anthropic | Wire::Responses) { OURS.into() } else { name }
}
