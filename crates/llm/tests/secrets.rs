//! Only a key's provider sees the key.

use std::sync::Arc;

use entourage_llm::{Connection, Delta, Model, NoDeltas, Provider, ProviderModel, Router, Settings, choose};

use crate::{
    server::{Answer, Server},
    wire::{Says, connection, model, request},
};

/// The key that must never be shown.
pub(crate) const KEY: &str = "sk-canary-4f1d9c";

#[tokio::test]
async fn a_key_repeated_in_a_server_error_is_redacted() {
    for provider in Provider::ALL {
        for status in [400, 401, 429, 500] {
            let repeats = format!(r#"{{"error": {{"message": "wrong key {KEY} given"}}}}"#);
            let server = Server::start([Answer::status(status, repeats)]).await;
            let error = model(provider, &server).call(request(provider), &mut NoDeltas).await.unwrap_err();
            assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
        }
        let server = Server::start([Answer::new(format!("data: {{\"error\": \"{KEY}\"}}\n\n{KEY}\n"))]).await;
        let error = model(provider, &server).call(request(provider), &mut NoDeltas).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
    }
}

/// A self-hosted server may repeat the key in an answer, which is stored and shown.
#[tokio::test]
async fn a_key_repeated_in_an_answer_is_redacted() {
    for provider in Provider::ALL {
        let says = Says {
            text: "Your key is sk-canary-4f1d9c, is it?",
            calls: vec![("note", r#"{"text": "sk-canary-4f1d9c"}"#)],
            ..Says::default()
        };
        let server = Server::start([says.answer(provider)]).await;
        let mut seen = String::new();
        let mut collect = |delta| {
            if let Delta::Text(text) = delta {
                seen.push_str(&text);
            }
        };
        let reply = model(provider, &server).call(request(provider), &mut collect).await.expect("a reply");
        assert_eq!(reply.text, "Your key is [key], is it?", "{provider}");
        assert_eq!(seen, reply.text, "{provider}");
        assert_eq!(reply.calls[0].arguments, serde_json::json!({ "text": "[key]" }), "{provider}");
    }
}

/// A key that a server repeats in a name, or escaped in JSON, is found where it is decoded.
#[tokio::test]
async fn a_key_repeated_in_a_name_or_escaped_is_redacted() {
    for provider in Provider::ALL {
        for (tool, arguments, expected) in [
            ("note", r#"{"text": "\u0073k\u002dcanary-4f1d9c"}"#, serde_json::json!({ "text": "[key]" })),
            (
                "note",
                r#"{"sk-canary-4f1d9c": [{"\u0073k-canary-4f1d9c": 1}]}"#,
                serde_json::json!({ "[key]": [{ "[key]": 1 }] }),
            ),
            ("sk-canary-4f1d9c", "{}", serde_json::json!({})),
        ] {
            let server = Server::start([Says::call(tool, arguments).answer(provider)]).await;
            let mut announced = Vec::new();
            let mut collect = |delta| {
                if let Delta::Call { tool } = delta {
                    announced.push(tool);
                }
            };
            let reply =
                model(provider, &server).call(request(provider), &mut collect).await.expect("a reply");
            assert_eq!(reply.calls[0].arguments, expected, "{provider}");
            assert_eq!(reply.calls[0].tool, tool.replace(KEY, "[key]"), "{provider}");
            assert_eq!(announced, [reply.calls[0].tool.clone()], "{provider}");
        }
        // Ollama's arguments are objects, which are always whole.
        if provider != Provider::Ollama {
            let cut = r#"{"text": "\u0073k-canary-4f1d9c"#;
            let server = Server::start([Says::call("note", cut).answer(provider)]).await;
            let reply =
                model(provider, &server).call(request(provider), &mut NoDeltas).await.expect("a reply");
            assert_eq!(reply.calls[0].arguments, r#"{"text": "[key]"#, "{provider}");
        }
    }
}

#[tokio::test]
async fn the_provider_gets_the_key_in_its_header() {
    for provider in Provider::ALL {
        let server = Server::start([Answer::status(500, "")]).await;
        let _ = model(provider, &server).call(request(provider), &mut NoDeltas).await;
        let head = &server.seen()[0].head;
        let header = match provider {
            Provider::Anthropic => Some(format!("x-api-key: {KEY}")),
            Provider::Ollama => None,
            _ => Some(format!("authorization: bearer {KEY}")),
        };
        assert_eq!(header.as_ref().is_some_and(|header| head.contains(header)), header.is_some(), "{head}");
    }
}

#[tokio::test]
async fn no_debug_output_description_or_error_shows_a_key() {
    let server = Server::start([Answer::status(500, "")]).await;
    let url = server.url.replace("http://", &format!("http://me:{KEY}@"));
    let connection = Connection { base_url: Some(url), ..connection(&server) };
    let mut settings = Settings::default();
    for provider in Provider::ALL {
        let model = ProviderModel::new(provider, connection.clone(), Arc::default()).expect("a model");
        let error = model.call(request(provider), &mut NoDeltas).await.unwrap_err();
        let shown = format!("{model:?} {} {error} {error:?}", model.describe());
        assert!(!shown.contains(KEY), "{shown}");
        settings.providers.insert(provider, Connection { base_url: None, ..connection.clone() });
    }
    settings.providers.remove(&Provider::Compatible);
    let router = Router::new(settings.clone(), "anthropic::m").expect("a router");
    let choice = choose(settings.clone(), |name| (name == "ANTHROPIC_API_KEY").then(|| KEY.to_owned()));
    let choice = choice.await.expect("a choice");
    let shown =
        format!("{settings:?} {router:?} {} {choice:?} {}", router.describe(), choice.model.describe());
    assert!(!shown.contains(KEY), "{shown}");
}

#[test]
fn an_invalid_base_url_is_refused_without_repeating_it() {
    for address in [format!("http://me:{KEY}@:bad"), format!("ftp://me:{KEY}@host/")] {
        let connection = Connection { base_url: Some(address), ..Connection::default() };
        let error = ProviderModel::new(Provider::Compatible, connection, Arc::default()).unwrap_err();
        assert!(error.to_string().contains("base_url") && !error.to_string().contains(KEY), "{error}");
    }
}
