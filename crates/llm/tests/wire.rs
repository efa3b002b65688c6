//! One scripted answer, as each provider streams it.

use std::sync::Arc;

use entourage_llm::{Connection, Provider, ProviderModel, Request};
use serde_json::{Value, json};

use crate::server::{Answer, Server};

/// A provider's scripted answer.
#[derive(Clone, Default)]
pub(crate) struct Says {
    pub(crate) reasoning: &'static str,
    pub(crate) text: &'static str,
    /// Names and arguments, as the model wrote them.
    pub(crate) calls: Vec<(&'static str, &'static str)>,
    pub(crate) stop: Stop,
}

/// How the answer stops.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Stop {
    #[default]
    Done,
    /// At the token limit.
    Length,
    /// By the provider's content filter.
    Filter,
    /// Not at all: the stream ends before the answer does.
    Never,
}

impl Says {
    pub(crate) fn text(text: &'static str) -> Self {
        Self { text, ..Self::default() }
    }

    pub(crate) fn call(tool: &'static str, arguments: &'static str) -> Self {
        Self { calls: vec![(tool, arguments)], ..Self::default() }
    }

    pub(crate) fn stop(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// Returns the body of the answer. Its usage is always 1,050 prompt tokens, of which 900 were read from
    /// the cache, and 20 answer tokens; if the protocol has fields for it, 50 were written to the cache and 5
    /// were reasoning.
    pub(crate) fn stream(&self, provider: Provider) -> String {
        match provider {
            Provider::Anthropic => self.anthropic(),
            Provider::OpenAiResp => self.responses(),
            Provider::Ollama => self.ollama(),
            Provider::OpenAi | Provider::OpenRouter | Provider::Compatible => self.chat(),
        }
    }

    pub(crate) fn answer(&self, provider: Provider) -> Answer {
        let format = if provider == Provider::Ollama { "application/x-ndjson" } else { "text/event-stream" };
        Answer::new(self.stream(provider)).header("content-type", format)
    }

    fn anthropic(&self) -> String {
        let mut events = vec![json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m",
            "usage": {"input_tokens": 100, "cache_creation_input_tokens": 50,
                      "cache_read_input_tokens": 900, "output_tokens": 1}}})];
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>, events: &mut Vec<Value>| {
            events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
            for delta in deltas {
                events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            events.push(json!({"type": "content_block_stop", "index": index}));
            index += 1;
        };
        if !self.reasoning.is_empty() {
            let delta = json!({"type": "thinking_delta", "thinking": self.reasoning});
            block(json!({"type": "thinking", "thinking": "", "signature": ""}), vec![delta], &mut events);
        }
        if !self.text.is_empty() {
            let deltas = pieces(self.text).map(|piece| json!({"type": "text_delta", "text": piece}));
            block(json!({"type": "text", "text": ""}), deltas.collect(), &mut events);
        }
        for (tool, arguments) in &self.calls {
            let deltas =
                halves(arguments).map(|half| json!({"type": "input_json_delta", "partial_json": half}));
            let start = json!({"type": "tool_use", "id": format!("toolu_{tool}"), "name": tool, "input": {}});
            block(start, deltas.to_vec(), &mut events);
        }
        let stop = match self.stop {
            Stop::Done if self.calls.is_empty() => "end_turn",
            Stop::Done => "tool_use",
            Stop::Length => "max_tokens",
            Stop::Filter => "refusal",
            Stop::Never => "",
        };
        if self.stop != Stop::Never {
            events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop},
                "usage": {"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 5}}}));
            events.push(json!({"type": "message_stop"}));
        }
        let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
        events.iter().map(line).collect()
    }

    fn chat(&self) -> String {
        let chunk = |delta: Value, finish: Option<&str>| {
            json!({"id": "c1", "object": "chat.completion.chunk", "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        };
        let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        if !self.reasoning.is_empty() {
            chunks.push(chunk(json!({"reasoning_content": self.reasoning}), None));
        }
        chunks.extend(pieces(self.text).map(|piece| chunk(json!({"content": piece}), None)));
        for (index, (tool, arguments)) in self.calls.iter().enumerate() {
            let [first, second] = halves(arguments);
            let start = json!({"index": index, "id": format!("call_{index}"), "type": "function",
                "function": {"name": tool, "arguments": first}});
            chunks.push(chunk(json!({"tool_calls": [start]}), None));
            let more = json!({"index": index, "function": {"arguments": second}});
            chunks.push(chunk(json!({"tool_calls": [more]}), None));
        }
        let finish = match self.stop {
            Stop::Done if self.calls.is_empty() => "stop",
            Stop::Done => "tool_calls",
            Stop::Length => "length",
            Stop::Filter => "content_filter",
            Stop::Never => return sse(&chunks),
        };
        chunks.push(chunk(json!({}), Some(finish)));
        chunks.push(json!({"id": "c1", "choices": [], "usage": {
            "prompt_tokens": 1050, "completion_tokens": 20, "total_tokens": 1070,
            "prompt_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 50},
            "completion_tokens_details": {"reasoning_tokens": 5}}}));
        sse(&chunks) + "data: [DONE]\n\n"
    }

    fn responses(&self) -> String {
        let response = json!({"id": "resp_1", "model": "m", "status": "in_progress", "output": []});
        let mut events = vec![json!({"type": "response.created", "response": response})];
        if !self.reasoning.is_empty() {
            events.push(json!({"type": "response.reasoning_summary_text.delta", "delta": self.reasoning}));
        }
        let text = pieces(self.text);
        events.extend(text.map(|piece| json!({"type": "response.output_text.delta", "delta": piece})));
        for (index, (tool, arguments)) in self.calls.iter().enumerate() {
            let mut item = json!({"type": "function_call", "id": format!("fc_{index}"),
                "call_id": format!("call_{index}"), "name": tool, "arguments": ""});
            events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
            for half in halves(arguments) {
                events.push(json!({"type": "response.function_call_arguments.delta",
                    "output_index": index, "delta": half}));
            }
            item["arguments"] = json!(arguments);
            events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        }
        let status = match self.stop {
            Stop::Never => return sse(&events),
            Stop::Done => "completed",
            Stop::Length | Stop::Filter => "incomplete",
        };
        events.push(json!({"type": format!("response.{status}"), "response": {
            "id": "resp_1", "model": "m", "status": status, "output": [],
            "usage": {"input_tokens": 1050, "output_tokens": 20, "total_tokens": 1070,
                "input_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 50},
                "output_tokens_details": {"reasoning_tokens": 5}}}}));
        sse(&events)
    }

    fn ollama(&self) -> String {
        let line = |message: Value| json!({"model": "m", "message": message, "done": false});
        let mut lines = Vec::new();
        if !self.reasoning.is_empty() {
            lines.push(line(json!({"role": "assistant", "content": "", "thinking": self.reasoning})));
        }
        lines.extend(pieces(self.text).map(|piece| line(json!({"role": "assistant", "content": piece}))));
        for (tool, arguments) in &self.calls {
            let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
            let call = json!({"function": {"name": tool, "arguments": arguments}});
            lines.push(line(json!({"role": "assistant", "content": "", "tool_calls": [call]})));
        }
        if self.stop != Stop::Never {
            let reason = if self.stop == Stop::Length { "length" } else { "stop" };
            lines.push(json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true,
                "done_reason": reason, "prompt_eval_count": 1050, "prompt_eval_cached_count": 900,
                "eval_count": 20}));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn pieces(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split_inclusive(' ')
}

fn halves(arguments: &'static str) -> [&'static str; 2] {
    let (first, second) = arguments.split_at(arguments.len() / 2);
    [first, second]
}

/// The tests' connection to their server, with a key that must never be shown.
pub(crate) fn connection(server: &Server) -> Connection {
    Connection {
        base_url: Some(server.url.clone()),
        key: Some(crate::secrets::KEY.into()),
        ..Connection::default()
    }
}

pub(crate) fn model(provider: Provider, server: &Server) -> ProviderModel {
    ProviderModel::new(provider, connection(server), Arc::default()).expect("a model")
}

/// A request to the server's model that contains only a question.
pub(crate) fn request(provider: Provider) -> Request {
    Request {
        model: Some(format!("{provider}::m")),
        messages: vec![entourage_llm::Message::User("Hello?".into())],
        ..Request::default()
    }
}
