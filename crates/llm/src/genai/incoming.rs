//! A provider's stream as one reply.

use entourage_types::{CallId, ToolCall, Usage};
use genai::chat::{ChatStreamEvent, StopReason, StreamEnd, ToolCall as WireCall, Usage as WireUsage};
use serde_json::{Map, Value};

use super::{
    failure::Failure,
    outgoing::{Wire, our_name},
};
use crate::{Delta, Deltas, Error, Reply, Result};

/// An answer under way.
pub(super) struct Answer {
    wire: Wire,
    text: String,
    /// The provider's ids of the calls that have been announced.
    announced: Vec<String>,
}

impl Answer {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire, text: String::new(), announced: Vec::new() }
    }

    /// Takes the next event; the last one is returned.
    pub(super) fn take(&mut self, event: ChatStreamEvent, deltas: &mut dyn Deltas) -> Option<StreamEnd> {
        match event {
            ChatStreamEvent::Chunk(chunk) => {
                self.text.push_str(&chunk.content);
                deltas.delta(Delta::Text(chunk.content));
            }
            ChatStreamEvent::ReasoningChunk(chunk) => deltas.delta(Delta::Reasoning(chunk.content)),
            // Each chunk repeats the call so far: only its first one is news.
            ChatStreamEvent::ToolCallChunk(chunk) => {
                let call = chunk.tool_call;
                if !call.fn_name.is_empty() && !self.announced.contains(&call.call_id) {
                    deltas.delta(Delta::Call { tool: our_name(self.wire, call.fn_name) });
                    self.announced.push(call.call_id);
                }
            }
            ChatStreamEvent::End(end) => return Some(end),
            ChatStreamEvent::Start
            | ChatStreamEvent::Heartbeat
            | ChatStreamEvent::ThoughtSignatureChunk(_) => {}
        }
        None
    }

    /// The reply, if the answer is one.
    pub(super) fn finish(self, mut end: StreamEnd, failure: &Failure<'_>) -> Result<Reply> {
        let usage = end.captured_usage.take().map(usage).unwrap_or_default();
        let stop = end.captured_stop_reason.take();
        let calls: Vec<ToolCall> = end
            .captured_into_tool_calls()
            .unwrap_or_default()
            .into_iter()
            .map(|call| own_call(self.wire, call))
            .collect();
        complete(stop, usage.output, failure)?;
        if calls.is_empty() && self.text.trim().is_empty() {
            return Err(failure.bad("empty: neither text nor a tool call"));
        }
        if calls.iter().any(|call| call.tool.is_empty()) {
            return Err(failure.bad("not usable: a tool call without a name"));
        }
        Ok(Reply { text: self.text, calls, usage, ..Reply::default() })
    }
}

/// Whether the provider says that the answer is whole. The reason is not asked for more: some
/// providers say "completed" and mean tool calls.
fn complete(stop: Option<StopReason>, written: u64, failure: &Failure<'_>) -> Result<()> {
    match stop {
        None => Err(failure.bad("cut off: the stream ended without a reason to stop")),
        Some(StopReason::MaxTokens(_)) => Err(failure.bad(&format!(
            "cut off at the limit of tokens, after {written}: raise `max_tokens`, or ask for less at once"
        ))),
        Some(StopReason::ContentFilter(word)) => Err(Error::Refused {
            model: failure.model.to_owned(),
            cause: format!("the provider's content filter stopped the answer ({word})"),
        }),
        Some(StopReason::Other(word))
            if matches!(word.as_str(), "failed" | "cancelled" | "error" | "ERROR") =>
        {
            Err(failure.bad(&format!("cut off: the provider says `{word}`")))
        }
        Some(_) => Ok(()),
    }
}

/// A call with an id of our own: some providers number the calls of each answer from zero.
fn own_call(wire: Wire, call: WireCall) -> ToolCall {
    ToolCall {
        id: CallId::new(),
        tool: our_name(wire, call.fn_name),
        arguments: arguments(call.fn_arguments),
    }
}

/// The arguments as an object where they can be read as one. None at all is an empty object, and
/// a string that holds JSON is what it holds; any other string stays, for the house to explain.
fn arguments(given: Value) -> Value {
    match given {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => Value::Object(object),
            _ => Value::String(text),
        },
        other => other,
    }
}

/// Tokens as we count them: the prompt includes what came from or went to the cache.
fn usage(wire: WireUsage) -> Usage {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
    let prompt = wire.prompt_tokens_details.unwrap_or_default();
    let completion = wire.completion_tokens_details.unwrap_or_default();
    let cached = count(prompt.cached_tokens);
    let cache_written = count(prompt.cache_creation_tokens);
    let reasoning = count(completion.reasoning_tokens);
    Usage {
        // Some gateways leave the cached part out of the total, or the reasoning.
        input: count(wire.prompt_tokens).max(cached + cache_written),
        output: count(wire.completion_tokens).max(reasoning),
        cached,
        cache_written,
        reasoning,
    }
}
