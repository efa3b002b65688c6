//! Converts our request for `genai`. Equal requests give equal bytes.

use crate::{Connection, Message, Request, remote::arguments};
use entourage_types::{ToolCall, ToolSpec, tool_names};
use genai::{
    adapter::AdapterKind,
    chat::{
        CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ContentPart, JsonSpec,
        MessageContent, MessageOptions, ReasoningEffort, Tool, ToolCall as WireCall, ToolResponse,
    },
};
use serde_json::json;

pub(super) fn options(kind: AdapterKind, connection: &Connection, request: &Request) -> ChatOptions {
    let schema = request.output_schema.as_deref();
    let mut options = ChatOptions {
        temperature: request.temperature,
        max_tokens: request.max_tokens,
        capture_usage: Some(true),
        capture_tool_calls: Some(true),
        stream_header_timeout: Some(connection.header_timeout()),
        stream_read_timeout: Some(connection.silence_timeout()),
        response_format: schema.map(|schema| match request.open_schema {
            true => ChatResponseFormat::JsonMode,
            false => JsonSpec::new("answer", schema.clone()).into(),
        }),
        tool_choice: request.forbids_calls().then_some(genai::chat::ToolChoice::None),
        ..ChatOptions::default()
    };
    if request.one_call && !request.tools.is_empty() && !request.forbids_calls() {
        options.extra_body = match kind {
            AdapterKind::Anthropic => {
                Some(json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}))
            }
            AdapterKind::OpenAIResp => Some(json!({"parallel_tool_calls": false})),
            _ => None,
        };
    }
    match kind {
        // Thinking, on by default in newer models, excludes a temperature.
        AdapterKind::Anthropic if request.temperature.is_some() => {
            options.reasoning_effort = Some(ReasoningEffort::Zero);
        }
        AdapterKind::OpenAIResp => {
            // Without an effort, `genai` parses one from the end of names such as `x-max` and cuts it off; a
            // budget is not sent in this protocol and leaves the name alone.
            options.reasoning_effort = Some(ReasoningEffort::Budget(0));
            // Without a cache setting, `genai` disables the cache of newer models; this setting itself is not
            // sent.
            options.cache_control = Some(CacheControl::Ephemeral5m);
        }
        _ => {}
    }
    options
}

pub(super) fn chat(kind: AdapterKind, request: Request) -> ChatRequest {
    let Request { system, messages, tools, .. } = request;
    let mut chat = ChatRequest::new(Vec::with_capacity(messages.len() + 2));
    if kind == AdapterKind::Anthropic && !system.is_empty() {
        // As a message, because only a message can carry the cache marker.
        chat.messages.push(cached(ChatMessage::system(&*system)));
    } else if !system.is_empty() {
        chat.system = Some(system.as_ref().into());
    }
    let mut after_context = false;
    for message in messages {
        let is_context = matches!(message, Message::Context(_));
        match message {
            Message::User(text) | Message::Notice(text) | Message::Context(text) if after_context => {
                join(kind, &mut chat.messages, text);
            }
            message => push(kind, &mut chat.messages, message),
        }
        after_context = is_context;
    }
    if kind == AdapterKind::Anthropic
        && let Some(last) = chat.messages.pop()
    {
        chat.messages.push(cached(last));
    }
    if !tools.is_empty() {
        chat.tools = Some(tools.iter().map(|tool| wire_tool(kind, tool)).collect());
    }
    chat
}

fn push(kind: AdapterKind, messages: &mut Vec<ChatMessage>, message: Message) {
    match message {
        Message::User(text) | Message::Notice(text) | Message::Context(text) => {
            messages.push(ChatMessage::user(text));
        }
        Message::Assistant { text, calls } => {
            let mut parts = Vec::with_capacity(calls.len() + 1);
            // Some providers refuse empty text.
            if !text.is_empty() {
                parts.push(ContentPart::Text(text));
            }
            parts.extend(calls.into_iter().map(|call| ContentPart::ToolCall(wire_call(kind, call))));
            if !parts.is_empty() {
                messages.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
            }
        }
        Message::Output { call, text, .. } => {
            let output = ToolResponse::new(call, text);
            // Anthropic wants the outputs of one turn in one message; the other protocols have one message
            // per output, and `genai` loses all but one of them for Ollama.
            match messages.last_mut() {
                Some(last) if kind == AdapterKind::Anthropic && last.content.contains_tool_response() => {
                    last.content.push(ContentPart::ToolResponse(output));
                }
                _ => messages.push(ChatMessage::from(output)),
            }
        }
    }
}

/// Adds a text to the user's message before it, because some models want the roles to alternate.
fn join(kind: AdapterKind, messages: &mut [ChatMessage], text: String) {
    if let Some(last) = messages.last_mut() {
        // `genai` puts an empty line between two texts, but not for Ollama.
        let gap = if kind == AdapterKind::Ollama { "\n\n" } else { "" };
        last.content.push(ContentPart::Text(format!("{gap}{text}")));
    }
}

/// Returns the message with a cache marker: the provider caches everything up to it.
fn cached(message: ChatMessage) -> ChatMessage {
    message.with_options(MessageOptions::from(CacheControl::Ephemeral))
}

fn wire_tool(kind: AdapterKind, spec: &ToolSpec) -> Tool {
    let mut tool = Tool::new(wire_name(kind, spec.name.clone()))
        .with_description(spec.description.as_str())
        .with_schema(spec.parameters.clone());
    if kind == AdapterKind::OpenAIResp {
        // By default, optional arguments would become required ones.
        tool.strict = Some(false);
    }
    tool
}

fn wire_call(kind: AdapterKind, call: ToolCall) -> WireCall {
    WireCall {
        call_id: call.id.to_string(),
        fn_name: wire_name(kind, call.tool),
        fn_arguments: arguments::write(&call.arguments).into_owned(),
        thought_signatures: None,
    }
}

/// The name in place of `web_search`, which `genai` would take for the provider's own tool.
const DISGUISED: &str = "web_search_tool";

fn wire_name(kind: AdapterKind, name: String) -> String {
    if name == tool_names::WEB_SEARCH && disguises(kind) { DISGUISED.into() } else { name }
}

/// Returns the tool's name as the engine knows it.
pub(super) fn our_name(kind: AdapterKind, name: String) -> String {
    if name == DISGUISED && disguises(kind) { tool_names::WEB_SEARCH.into() } else { name }
}

fn disguises(kind: AdapterKind) -> bool {
    matches!(kind, AdapterKind::Anthropic | AdapterKind::OpenAIResp)
}
