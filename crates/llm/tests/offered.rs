//! The list of models that a provider offers.

use std::time::Duration;

use entourage_llm::{Error, Provider};

use crate::{
    server::{Answer, Server},
    wire::model,
};

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn each_provider_is_asked_for_models_at_its_own_path_with_its_own_key() {
    for provider in Provider::ALL {
        let list = match provider {
            Provider::Ollama => r#"{"models": [{"name": "two"}, {"name": "one"}]}"#,
            _ => r#"{"data": [{"id": "two"}, {"id": "one"}]}"#,
        };
        let server = Server::start([Answer::new(list)]).await;
        let offered = model(provider, &server).offered(PATIENCE).await.expect("a list");
        assert_eq!(offered, Some(vec!["two".to_owned(), "one".to_owned()]), "in its own order");
        let head = &server.seen()[0].head;
        let (path, key) = match provider {
            Provider::Anthropic => ("/v1/models?limit=1000", Some("x-api-key: sk-canary")),
            Provider::OpenRouter => ("/v1/models/user", Some("authorization: bearer sk-canary")),
            Provider::Ollama => ("/api/tags", None),
            _ => ("/v1/models", Some("authorization: bearer sk-canary")),
        };
        assert!(head.to_lowercase().starts_with(&format!("get {path} ")), "{head}");
        assert!(key.is_none_or(|key| head.to_lowercase().contains(key)), "{head}");
    }
}

#[tokio::test]
async fn a_failed_model_list_is_an_error_and_a_missing_one_is_none() {
    let asked = |answer: Answer, limit: Duration| async move {
        let server = Server::start([answer]).await;
        model(Provider::OpenAi, &server).offered(limit).await
    };
    let denied = asked(Answer::status(401, r#"{"error": {"message": "Incorrect API key"}}"#), PATIENCE).await;
    assert!(
        matches!(&denied, Err(Error::Denied { cause, .. }) if cause.contains("OPENAI_API_KEY")),
        "{denied:?}"
    );
    let down = asked(Answer::status(503, ""), PATIENCE).await;
    assert!(matches!(down, Err(Error::Unavailable { .. })), "{down:?}");
    let mute = asked(Answer::mute(), Duration::from_millis(50)).await;
    assert!(matches!(mute, Err(Error::TimedOut { .. })), "{mute:?}");
    for none in [Answer::status(404, ""), Answer::new("<html>")] {
        assert_eq!(asked(none, PATIENCE).await, Ok(None));
    }
}

/// A name is stored with every turn, and shown in lists and on terminals.
#[tokio::test]
async fn blank_and_overlong_model_names_are_left_out() {
    let list = format!(r#"{{"data": [{{"id": "{}"}}, {{"id": "   "}}, {{"id": "one"}}]}}"#, "x".repeat(501));
    let server = Server::start([Answer::new(list)]).await;
    let offered = model(Provider::Compatible, &server).offered(PATIENCE).await;
    assert_eq!(offered, Ok(Some(vec!["one".to_owned()])));
}

#[tokio::test]
async fn an_oversized_model_list_is_not_read_to_its_end() {
    let endless = format!(r#"{{"data": [{{"id": "one"}}], "rest": "{}"}}"#, "x".repeat(9 << 20));
    for status in [200, 404, 500] {
        let server = Server::start([Answer::status(status, endless.clone())]).await;
        let offered = model(Provider::Compatible, &server).offered(PATIENCE).await;
        match status {
            200 => assert!(
                matches!(&offered, Err(Error::BadAnswer { what, .. }) if what.contains("without end")),
                "{offered:?}"
            ),
            404 => assert_eq!(offered, Ok(None)),
            _ => assert!(matches!(&offered, Err(Error::Unavailable { cause, .. }) if cause.len() < 600)),
        }
    }
}
