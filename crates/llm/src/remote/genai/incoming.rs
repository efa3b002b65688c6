//! Assembles the stream that `genai` returns into one answer or one error.

use std::collections::HashSet;

use entourage_types::Usage;
use genai::{
    BoxError,
    adapter::AdapterKind,
    chat::{ChatStreamEvent, StreamEnd, Usage as WireUsage},
    webc::StreamTimeout,
};

use super::outgoing::our_name;
use crate::{
    Delta, Deltas, Error, Provider,
    remote::{answer::Answer, failure::Failure},
};

/// An answer in progress.
pub(super) struct Incoming {
    kind: AdapterKind,
    text: String,
    /// The size of text and reasoning, in bytes.
    said: usize,
    /// The size of the longest arguments of a call; each chunk repeats them.
    longest_call: usize,
    /// The provider's ids of the calls that were announced.
    announced: HashSet<String>,
}

impl Incoming {
    pub(super) fn new(kind: AdapterKind) -> Self {
        Self { kind, text: String::new(), said: 0, longest_call: 0, announced: HashSet::new() }
    }

    /// Returns the size of the answer so far, in bytes.
    pub(super) fn said(&self) -> usize {
        self.said + self.longest_call
    }

    /// Adds the next event; the last one completes the answer.
    pub(super) fn take(&mut self, event: ChatStreamEvent, deltas: &mut dyn Deltas) -> Option<Answer> {
        match event {
            ChatStreamEvent::Chunk(chunk) => {
                self.said += chunk.content.len();
                self.text.push_str(&chunk.content);
                deltas.delta(Delta::Text(chunk.content));
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                self.said += chunk.content.len();
                deltas.delta(Delta::Reasoning(chunk.content));
            }
            // Each chunk repeats the call so far: only the first one is announced.
            ChatStreamEvent::ToolCallChunk(chunk) => {
                let call = chunk.tool_call;
                self.longest_call = self.longest_call.max(call.fn_arguments.as_str().map_or(0, str::len));
                self.announce(&call.call_id, &call.fn_name, deltas);
            }
            ChatStreamEvent::End(end) => return Some(self.end(end, deltas)),
            ChatStreamEvent::Start
            | ChatStreamEvent::Heartbeat
            | ChatStreamEvent::ThoughtSignatureChunk(_) => {}
        }
        None
    }

    fn announce(&mut self, id: &str, name: &str, deltas: &mut dyn Deltas) {
        if !name.is_empty() && self.announced.insert(id.to_owned()) {
            deltas.delta(Delta::Call { tool: our_name(self.kind, name.to_owned()) });
        }
    }

    fn end(&mut self, mut end: StreamEnd, deltas: &mut dyn Deltas) -> Answer {
        let usage = end.captured_usage.take().map(tokens).unwrap_or_default();
        let stop = end.captured_stop_reason.take().map(|reason| reason.raw().to_owned());
        let calls = end.captured_into_tool_calls().unwrap_or_default();
        // Calls that arrived complete have not been announced yet.
        for call in &calls {
            self.announce(&call.call_id, &call.fn_name, deltas);
        }
        let calls = calls.into_iter().map(|call| (our_name(self.kind, call.fn_name), call.fn_arguments));
        Answer { text: std::mem::take(&mut self.text), calls: calls.collect(), usage, stop }
    }
}

fn tokens(wire: WireUsage) -> Usage {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
    let prompt = wire.prompt_tokens_details.unwrap_or_default();
    let completion = wire.completion_tokens_details.unwrap_or_default();
    Usage {
        input: count(wire.prompt_tokens),
        output: count(wire.completion_tokens),
        cached: count(prompt.cached_tokens),
        cache_written: count(prompt.cache_creation_tokens),
        reasoning: count(completion.reasoning_tokens),
    }
}

/// Converts an error of `genai` into an [`Error`].
pub(super) fn error(error: genai::Error, failure: &Failure<'_>) -> Error {
    match error {
        genai::Error::WebStream { error, .. } => first_item(error, failure),
        genai::Error::HttpError { status, body, headers, .. } => failure.status(status, &headers, &body),
        genai::Error::ChatResponse { body, .. } => failure.event(&body),
        // `genai` has no other way to report that a response failed; this is the provider's own error, and
        // its JSON is valid.
        genai::Error::StreamParse { serde_error, .. }
            if failure.provider == Provider::OpenAiResp && serde_error.is_data() =>
        {
            failure.unavailable(&serde_error.to_string(), None)
        }
        genai::Error::StreamParse { serde_error, .. } => {
            failure.bad(&format!("not JSON where JSON was due ({serde_error})"))
        }
        genai::Error::JsonValueExt(cause) => failure.bad(&format!("not of the provider's format ({cause})")),
        genai::Error::SerdeJson(cause) => failure.bad(&format!("not of the provider's format ({cause})")),
        other => failure.refused(&other.to_string()),
    }
}

/// Converts the error of the HTTP exchange, which `genai` returns as the stream's first item.
fn first_item(cause: BoxError, failure: &Failure<'_>) -> Error {
    let cause = match cause.downcast::<genai::Error>() {
        Ok(inner) => return error(*inner, failure),
        Err(cause) => cause,
    };
    match cause.downcast_ref::<StreamTimeout>() {
        Some(StreamTimeout::Headers) => return failure.timed_out(failure.connection.header_timeout()),
        Some(StreamTimeout::Read) => return failure.timed_out(failure.connection.silence_timeout()),
        None => {}
    }
    match cause.downcast::<reqwest::Error>() {
        Ok(cause) => failure.network(*cause),
        Err(cause) => failure.bad(&format!("not readable ({cause})")),
    }
}
