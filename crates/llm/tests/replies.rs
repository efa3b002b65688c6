//! The replies parsed from each provider's stream.

use std::sync::Arc;

use entourage_llm::{Connection, Delta, Model, NoDeltas, Provider, ProviderModel};
use entourage_types::Usage;
use serde_json::json;

use crate::{
    server::{Answer, Server},
    wire::{Says, model, request},
};

/// Shows: S4-R134, S4-R135.
#[tokio::test]
async fn text_is_streamed_as_deltas_and_returned_whole() {
    for provider in Provider::ALL {
        let says = Says { reasoning: "Hm.", text: "Hello to you, Grüße.", ..Says::default() };
        let server = Server::start([says.answer(provider)]).await;
        let mut deltas = Vec::new();
        let mut collect = |delta| deltas.push(delta);
        let reply = model(provider, &server).call(request(provider), &mut collect).await.expect("a reply");

        assert_eq!(reply.text, "Hello to you, Grüße.", "{provider}");
        assert!(reply.calls.is_empty());
        assert_eq!(reply.model, format!("{provider}::m"));
        let pieces = ["Hello ", "to ", "you, ", "Grüße."].map(|piece| Delta::Text(piece.into()));
        assert_eq!(deltas[..2], [Delta::Taken, Delta::Reasoning("Hm.".into())], "{provider}");
        assert_eq!(deltas[2..], pieces, "{provider}");
    }
}

/// Shows: S4-R135.
#[tokio::test]
async fn parallel_calls_keep_their_order_and_get_separate_ids() {
    for provider in Provider::ALL {
        let says = Says {
            calls: vec![("web_fetch", r#"{"url": "a", "n": 1}"#), ("list_files", "{}")],
            ..Says::default()
        };
        let server = Server::start([says.answer(provider)]).await;
        let mut deltas = Vec::new();
        let mut collect = |delta| deltas.push(delta);
        let reply = model(provider, &server).call(request(provider), &mut collect).await.expect("a reply");

        let calls: Vec<_> =
            reply.calls.iter().map(|call| (call.tool.as_str(), call.arguments.clone())).collect();
        assert_eq!(
            calls,
            [("web_fetch", json!({"url": "a", "n": 1})), ("list_files", json!({}))],
            "{provider}"
        );
        assert_ne!(reply.calls[0].id, reply.calls[1].id);
        assert_eq!(reply.text, "");
        let begun = ["web_fetch", "list_files"].map(|tool| Delta::Call { tool: tool.into() });
        assert_eq!(deltas[1..], begun, "{provider}: each call is announced once");
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object() {
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::OpenAiResp, Provider::OpenRouter] {
        let server = Server::start([Says::call("list_files", "").answer(provider)]).await;
        let reply = model(provider, &server).call(request(provider), &mut NoDeltas).await.expect("a reply");
        assert_eq!(reply.calls[0].arguments, json!({}), "{provider}");
    }
}

#[tokio::test]
async fn arguments_that_are_not_json_are_kept_as_text() {
    for provider in Provider::ALL {
        let server = Server::start([Says::call("fetch_url", r#"{"url": "#).answer(provider)]).await;
        let reply = model(provider, &server).call(request(provider), &mut NoDeltas).await.expect("a reply");
        assert_eq!(reply.calls[0].arguments, json!(r#"{"url": "#), "{provider}");
    }
}

/// Each value takes dozens of bytes, so that they are kept as a text, which the engine refuses.
#[tokio::test]
async fn arguments_with_too_many_values_are_kept_as_text() {
    for provider in Provider::ALL {
        let arguments: &'static str = format!("{{\"a\":[{}0]}}", "[],".repeat(100_000)).leak();
        let server = Server::start([Says::call("note", arguments).answer(provider)]).await;
        let reply = model(provider, &server).call(request(provider), &mut NoDeltas).await.expect("a reply");
        assert_eq!(reply.calls[0].arguments.as_str().map(str::len), Some(arguments.len()), "{provider}");
    }
}

#[tokio::test]
async fn the_wire_name_of_web_search_is_mapped_back_to_our_tool() {
    for provider in [Provider::Anthropic, Provider::OpenAiResp] {
        let server =
            Server::start([Says::call("web_search_tool", r#"{"query": "q"}"#).answer(provider)]).await;
        let reply = model(provider, &server).call(request(provider), &mut NoDeltas).await.expect("a reply");
        assert_eq!(reply.calls[0].tool, "web_search", "{provider}");
    }
}

/// Shows: S4-R135.
#[tokio::test]
async fn usage_counts_the_whole_prompt_and_its_cached_part() {
    for provider in Provider::ALL {
        let server = Server::start([Says::text("Hi.").answer(provider)]).await;
        let reply = model(provider, &server).call(request(provider), &mut NoDeltas).await.expect("a reply");
        let (cache_written, reasoning) = match provider {
            // Ollama's protocol has no fields for them; Anthropic's reasoning count is not in its stream.
            Provider::Ollama => (0, 0),
            Provider::Anthropic => (50, 0),
            _ => (50, 5),
        };
        let expected = Usage { input: 1050, output: 20, cached: 900, cache_written, reasoning };
        assert_eq!(reply.usage, expected, "{provider}");
    }
}

#[tokio::test]
async fn a_reply_of_a_known_model_carries_its_cost() {
    let server = Server::start([Says::text("Hi.").answer(Provider::Anthropic)]).await;
    let mut request = request(Provider::Anthropic);
    request.model = Some("anthropic::claude-sonnet-4-5".into());
    let reply = model(Provider::Anthropic, &server).call(request, &mut NoDeltas).await.expect("a reply");
    // 100 tokens at $3, 900 at $0.30, 50 at $3.75 and 20 at $15 a million.
    assert_eq!(reply.cost.map(|cost| cost.nanos()), Some(300_000 + 270_000 + 187_500 + 300_000));
}

#[tokio::test]
async fn nonstandard_chat_completion_streams_are_understood() {
    let chunk =
        |delta: &str| format!(r#"data: {{"choices": [{{"delta": {delta}, "finish_reason": null}}]}}"#);
    let stop = r#"data: {"choices": [{"delta": {}, "finish_reason": "eos"}]}"#.to_owned();
    let calls = [
        r#"{"tool_calls": [{"id": "a", "function": {"name": "one", "arguments": "{\"x\""}}]}"#,
        r#"{"tool_calls": [{"function": {"arguments": ": 1}"}}]}"#,
        r#"{"tool_calls": [{"id": "b", "function": {"name": "two", "arguments": {"y": 2}}}]}"#,
        r#"{"tool_calls": [{"id": "c", "function": {"name": "three", "arguments": "\"{\\\"z\\\": 3}\""}}]}"#,
    ];
    let parts = r#"{"content": [{"type": "text", "text": "In "}, {"type": "text", "text": "parts."}]}"#;
    // Calls without an index, arguments as an object or as JSON in JSON, text in parts, an unknown stop
    // reason, no `[DONE]`, and no line end after the last line.
    let lines: Vec<String> = calls.into_iter().chain([parts]).map(chunk).chain([stop]).collect();
    let server = Server::start([Answer::new(lines.join("\r\n\r\n"))]).await;
    let provider = Provider::Compatible;
    let reply = model(provider, &server).call(request(provider), &mut NoDeltas).await.expect("a reply");
    assert_eq!(reply.text, "In parts.");
    let calls: Vec<_> = reply.calls.iter().map(|call| (call.tool.as_str(), call.arguments.clone())).collect();
    assert_eq!(calls, [("one", json!({"x": 1})), ("two", json!({"y": 2})), ("three", json!({"z": 3}))]);
    assert_eq!(reply.usage, Usage::default());
}

#[tokio::test]
async fn a_call_that_arrives_without_deltas_is_announced() {
    let whole = Says::call("list_files", "{}").stream(Provider::OpenAiResp);
    let without_deltas: String =
        whole.split_inclusive("\n\n").filter(|event| !event.contains("arguments.delta")).collect();
    assert_ne!(whole, without_deltas);
    let server = Server::start([Answer::new(without_deltas)]).await;
    let mut deltas = Vec::new();
    let mut collect = |delta| deltas.push(delta);
    let model = model(Provider::OpenAiResp, &server);
    model.call(request(Provider::OpenAiResp), &mut collect).await.expect("a reply");
    assert_eq!(deltas, [Delta::Taken, Delta::Call { tool: "list_files".into() }]);
}

#[tokio::test]
async fn a_connection_without_a_key_sends_no_authorization_header() {
    let server = Server::start([Says::text("Hi.").answer(Provider::Compatible)]).await;
    let connection = Connection { base_url: Some(server.url.clone()), ..Connection::default() };
    let model = ProviderModel::new(Provider::Compatible, connection, Arc::default()).expect("a model");
    model.call(request(Provider::Compatible), &mut NoDeltas).await.expect("a reply");
    assert!(!server.seen()[0].head.contains("authorization"), "{}", server.seen()[0].head);
}
