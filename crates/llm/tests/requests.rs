//! The requests on the wire: correct for each provider, and the same bytes for equal requests.

use std::sync::Arc;

use entourage_llm::{Error, Message, Model, NoDeltas, Provider, ProviderModel, Request};
use entourage_types::{CallId, ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::{
    server::{Seen, Server},
    wire::{Says, connection, model, request},
};

fn call(number: u32, tool: &str, arguments: Value) -> ToolCall {
    let id: CallId = format!("cal_{number:032}").parse().expect("an id");
    ToolCall { id, tool: tool.into(), arguments }
}

fn output(number: u32, tool: &str, text: &str) -> Message {
    Message::Output { call: format!("cal_{number:032}"), tool: tool.into(), text: text.into() }
}

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec::new(name, format!("Does {name}."), parameters)
}

/// A conversation with every kind of message, up to two outputs.
fn conversation(provider: Provider) -> Request {
    let calls =
        vec![call(1, "web_search", json!({"query": "q"})), call(2, "list_files", json!("{\"path\": "))];
    let options =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false});
    Request {
        system: "You are an agent.".into(),
        messages: vec![
            Message::Context("<now>12:00</now>".into()),
            Message::User("Find it.".into()),
            Message::Assistant { text: "Looking.".into(), calls },
            output(1, "web_search", "found"),
            output(2, "list_files", "not JSON"),
        ],
        tools: [tool("web_search", json!({"type": "object"})), tool("list_files", options)].into(),
        ..request(provider)
    }
}

async fn send(provider: Provider, request: Request) -> Seen {
    let server = Server::start([Says::text("Hi.").answer(provider)]).await;
    model(provider, &server).call(request, &mut NoDeltas).await.expect("a reply");
    server.seen().remove(0)
}

async fn body(provider: Provider, request: Request) -> Value {
    serde_json::from_str(&send(provider, request).await.body).expect("JSON")
}

/// Shows: S4-R134, S4-R135.
#[tokio::test]
async fn each_provider_gets_a_request_in_its_own_format() {
    for provider in Provider::ALL {
        let seen = send(provider, conversation(provider)).await;
        let path = seen.head.split(' ').nth(1).expect("a path").to_owned();
        let body: Value = serde_json::from_str(&seen.body).expect("JSON");
        insta::assert_json_snapshot!(format!("request_{provider}"), json!({"path": path, "body": body}));
    }
}

#[tokio::test]
async fn equal_requests_produce_equal_bytes() {
    for provider in Provider::ALL {
        let first = send(provider, conversation(provider)).await;
        let second = send(provider, conversation(provider)).await;
        assert_eq!(first.body, second.body, "{provider}");
    }
}

/// Providers cache a prefix: everything up to the last message must be the same bytes one turn later.
#[tokio::test]
async fn a_longer_conversation_starts_with_the_bytes_of_the_shorter_one() {
    for provider in Provider::ALL {
        let mut longer = conversation(provider);
        longer.messages.push(Message::Assistant { text: "Found it.".into(), calls: Vec::new() });
        longer.messages.push(Message::Context("<now>12:01</now>".into()));
        longer.messages.push(Message::User("Go on.".into()));
        let short = send(provider, conversation(provider)).await.body;
        let long = send(provider, longer).await.body;
        // Anthropic's cache marker moves; it is not part of the cached content.
        let unmarked = |body: &str| body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
        let (short, long) = (unmarked(&short), unmarked(&long));
        let common = short.bytes().zip(long.bytes()).take_while(|(a, b)| a == b).count();
        let last_output = short.find("not JSON").expect("the last output");
        assert!(common > last_output, "{provider}: equal only up to\n{}", &short[..common]);
    }
}

/// Some servers want the roles to alternate: what the model reads before a message of the user is part of that
/// message. After an output it is a message of its own, which never stands between a call and its output.
#[tokio::test]
async fn a_context_joins_the_message_of_the_user_behind_it() {
    let context = |minute: u32| Message::Context(format!("<now>12:0{minute}</now>"));
    for provider in Provider::ALL {
        let messages = vec![context(0), context(1), Message::User("Hello?".into())];
        let sent = body(provider, Request { messages, ..request(provider) }).await;
        let messages =
            sent.get("messages").or(sent.get("input")).and_then(Value::as_array).expect("messages");
        assert_eq!(messages.len(), 1, "{provider}: {sent}");
        let text = messages[0]["content"].to_string();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{provider}: {text}"));
        assert!(at("12:00") < at("12:01") && at("12:01") < at("Hello?"), "{provider}: {text}");

        let mut last = conversation(provider);
        last.messages.push(context(2));
        let sent = body(provider, last).await;
        let messages =
            sent.get("messages").or(sent.get("input")).and_then(Value::as_array).expect("messages");
        let last = messages.last().expect("a last message");
        assert_eq!(last["role"], "user", "{provider}");
        assert!(last["content"].to_string().contains("12:02"), "{provider}: {last}");
    }
}

/// A limit of one call per turn is sent to every provider that supports it.
#[tokio::test]
async fn a_limit_of_one_call_is_sent_to_each_provider_that_supports_it() {
    for provider in Provider::ALL {
        let sent = |one_call| body(provider, Request { one_call, ..conversation(provider) });
        let (one, many) = (sent(true).await, sent(false).await);
        match provider {
            Provider::Anthropic => {
                let choice = json!({"type": "auto", "disable_parallel_tool_use": true});
                assert_eq!((&one["tool_choice"], &many["tool_choice"]), (&choice, &Value::Null));
            }
            Provider::Ollama => assert_eq!(one, many, "it cannot be told"),
            _ => assert_eq!(
                (&one["parallel_tool_calls"], &many["parallel_tool_calls"]),
                (&json!(false), &Value::Null),
                "{provider}"
            ),
        }
    }
}

#[tokio::test]
async fn an_output_schema_is_sent_to_every_provider() {
    let schema = json!({"type": "object", "properties": {"yes": {"type": "boolean"}, "why": {"type": "string"}},
                        "required": ["yes"], "additionalProperties": false});
    for provider in Provider::ALL {
        let request = Request { output_schema: Some(Arc::new(schema.clone())), ..request(provider) };
        // With a schema, Ollama uses chat completions.
        let says = Says::text(r#"{"yes": true}"#);
        let wire = if provider == Provider::Ollama { Provider::OpenAi } else { provider };
        let server = Server::start([says.answer(wire)]).await;
        let reply = model(provider, &server).call(request, &mut NoDeltas).await.expect("a reply");
        assert_eq!(reply.text, r#"{"yes": true}"#);
        let seen = server.seen().remove(0);
        let body: Value = serde_json::from_str(&seen.body).expect("JSON");
        let place = match provider {
            Provider::Anthropic => "/output_config/format/schema",
            Provider::OpenAiResp => "/text/format/schema",
            _ => "/response_format/json_schema/schema",
        };
        let sent = body.pointer(place).expect("the schema");
        assert_eq!(sent["properties"], schema["properties"], "{provider}");
        if matches!(provider, Provider::Ollama | Provider::Compatible) {
            assert_eq!(sent, &schema, "{provider}: untouched");
            assert!(seen.head.starts_with("post /v1/chat/completions "), "{}", seen.head);
        }
    }
}

#[tokio::test]
async fn an_open_schema_asks_for_a_json_object_where_schemas_are_strict() {
    let schema = json!({"type": "object", "properties": {"yes": {"type": "boolean"}}});
    for provider in Provider::ALL {
        let request = Request {
            output_schema: Some(Arc::new(schema.clone())),
            open_schema: true,
            messages: vec![Message::User("Answer with JSON.".into())],
            ..request(provider)
        };
        let says = Says::text(r#"{"yes": true, "more": 1}"#);
        let wire = if provider == Provider::Ollama { Provider::OpenAi } else { provider };
        let server = Server::start([says.answer(wire)]).await;
        let reply = model(provider, &server).call(request, &mut NoDeltas).await.expect("a reply");
        assert_eq!(reply.text, r#"{"yes": true, "more": 1}"#);
        let body: Value = serde_json::from_str(&server.seen().remove(0).body).expect("JSON");
        match provider {
            Provider::Anthropic => assert_eq!(body.get("output_config"), None, "it has no such mode"),
            Provider::OpenAiResp => {
                assert_eq!(body.pointer("/text/format"), Some(&json!({"type": "json_object"})))
            }
            Provider::OpenAi | Provider::OpenRouter => {
                assert_eq!(body["response_format"], json!({"type": "json_object"}), "{provider}");
            }
            Provider::Ollama | Provider::Compatible => {
                assert_eq!(body["response_format"]["json_schema"]["schema"], schema, "{provider}");
            }
        }
    }
}

/// Where a provider has a strict mode, it is asked for with a closed schema, and never with an open one or with tools,
/// whose optional arguments would become required ones.
#[tokio::test]
async fn a_closed_schema_is_strict_where_the_provider_supports_that_and_nothing_else_is() {
    let closed = json!({"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"],
                        "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"yes": {"type": "boolean"}}});
    for provider in Provider::ALL {
        let sent = async |schema: Option<&Value>| {
            let request = Request {
                output_schema: schema.cloned().map(Arc::new),
                open_schema: schema == Some(&open),
                ..conversation(provider)
            };
            // With a schema, Ollama uses chat completions.
            let chats = provider == Provider::Ollama && schema.is_some();
            let wire = if chats { Provider::OpenAi } else { provider };
            let server = Server::start([Says::text(r#"{"yes": true}"#).answer(wire)]).await;
            model(provider, &server).call(request, &mut NoDeltas).await.expect("a reply");
            let body = server.seen().remove(0).body;
            (serde_json::from_str::<Value>(&body).expect("JSON"), body.contains(r#""strict":true"#))
        };
        let place = match provider {
            // Its schemas are strict, and it has no word for that.
            Provider::Anthropic => None,
            Provider::OpenAiResp => Some("/text/format/strict"),
            _ => Some("/response_format/json_schema/strict"),
        };
        let (body, is_strict) = sent(Some(&closed)).await;
        assert_eq!(is_strict, place.is_some(), "{provider}: {body}");
        let said = place.and_then(|place| body.pointer(place));
        assert_eq!(said, place.map(|_| &json!(true)), "{provider}: {body}");
        let (body, is_strict) = sent(None).await;
        assert!(!is_strict, "{provider} without a schema: {body}");
        let (body, is_strict) = sent(Some(&open)).await;
        assert!(!is_strict, "{provider} with an open schema: {body}");
    }
}

#[tokio::test]
async fn a_model_name_is_sent_unchanged_and_adds_no_other_field() {
    for provider in Provider::ALL {
        for name in ["qwen-max", "gpt-6.1-sol", "a::b-high"] {
            if provider == Provider::Anthropic && name != "gpt-6.1-sol" {
                continue; // Anthropic has no such model.
            }
            let sent =
                body(provider, Request { model: Some(format!("{provider}::{name}")), ..request(provider) })
                    .await;
            assert_eq!(sent["model"], name, "{provider}");
            for field in
                ["reasoning", "reasoning_effort", "prompt_cache_options", "prompt_cache_retention", "think"]
            {
                assert_eq!(sent.get(field), None, "{provider}");
            }
        }
    }
}

#[tokio::test]
async fn the_temperature_and_token_limit_of_a_request_are_sent() {
    for provider in Provider::ALL {
        let request = Request { temperature: Some(0.5), max_tokens: Some(77), ..request(provider) };
        let sent = body(provider, request).await.to_string();
        assert!(sent.contains(r#""temperature":0.5"#) && sent.contains(":77"), "{sent}");
    }
}

#[tokio::test]
async fn a_base_url_is_accepted_with_or_without_scheme_and_path() {
    let cases = [
        (Provider::Anthropic, "", "/v1/messages"),
        (Provider::Anthropic, "/gateway", "/gateway/v1/messages"),
        (Provider::Anthropic, "/v1/", "/v1/messages"),
        (Provider::OpenAi, "/v1", "/v1/chat/completions"),
        (Provider::OpenAiResp, "/v1", "/v1/responses"),
        (Provider::OpenRouter, "/api/v1/", "/api/v1/chat/completions"),
        (Provider::Compatible, "", "/v1/chat/completions"),
        (Provider::Ollama, "/v1", "/api/chat"),
        (Provider::Ollama, "/", "/api/chat"),
    ];
    for (provider, given, path) in cases {
        let server = Server::start([Says::text("Hi.").answer(provider)]).await;
        let mut connection = connection(&server);
        connection.base_url = Some(format!("{}{given}", server.url.trim_start_matches("http://")));
        let model = ProviderModel::new(provider, connection, Arc::default()).expect("a model");
        model.call(request(provider), &mut NoDeltas).await.expect("a reply");
        let head = server.seen().remove(0).head;
        assert!(head.starts_with(&format!("post {path} ")), "{provider} {given}: {head}");
    }
}

#[tokio::test]
async fn a_model_name_of_another_provider_is_rejected_before_sending() {
    let server = Server::start([Says::text("Hi.").answer(Provider::Ollama)]).await;
    let model = model(Provider::Ollama, &server);
    for name in ["gpt-4o", "mini-max", "gemini::flash", "openai::gpt-4o", "ollama::", ""] {
        let request = Request { model: Some(name.into()), ..request(Provider::Ollama) };
        let error = model.call(request, &mut NoDeltas).await.unwrap_err();
        assert!(matches!(error, Error::Configuration(_)), "{name}: {error:?}");
    }
    assert!(server.seen().is_empty(), "nothing was sent");
}

#[test]
fn the_error_for_a_missing_key_or_address_names_it() {
    for provider in Provider::ALL {
        let made = ProviderModel::new(provider, Default::default(), Arc::default());
        match (provider, made) {
            (Provider::Ollama, made) => assert!(made.is_ok()),
            (Provider::Compatible, Err(error)) => assert!(error.to_string().contains("base_url"), "{error}"),
            (_, Err(error)) => {
                let variable = provider.key_variable().expect("needs a key");
                assert!(error.to_string().contains(variable), "{error}");
            }
            (_, Ok(_)) => panic!("{provider} was made without a key"),
        }
    }
}
