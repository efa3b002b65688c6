//! What is known about a model from its name, its server and the settings.

use entourage_llm::{Connection, KnownFrom, Model, Profile, ProfileSettings, Provider, Router, Settings};
use serde_json::json;

use crate::server::{Answer, Server};

#[test]
fn only_small_models_are_assumed_to_lack_native_tools() {
    let weak = [
        "ollama::qwen2.5-coder:1.5b",
        "ollama::qwen2.5-coder:0.5b",
        "ollama::llama3.2:3b",
        "ollama::smollm2:135m",
        "ollama::smollm2",
        "compatible::Qwen2.5-Coder-1.5B-Instruct",
        "compatible::models/1.5b.gguf",
        "openrouter::meta-llama/llama-3.2-3b-instruct",
        "ollama::gemma3:270m",
    ];
    for model in weak {
        assert!(!Profile::of(model).native_tools, "{model}");
    }
    let strong = [
        "anthropic::claude-sonnet-5-5",
        "openai::gpt-6.1-sol",
        "openai::gpt-4.1-mini",
        "ollama::qwen3:8b",
        "ollama::qwen3:30b-a3b",
        "compatible::mixtral-8x7b",
        "openrouter::openai/gpt-oss-20b",
        "ollama::llama3",
    ];
    for model in strong {
        assert!(Profile::of(model).native_tools, "{model}");
    }
}

#[test]
fn a_context_window_is_taken_from_the_table_or_unknown() {
    for (model, window) in [
        ("anthropic::claude-sonnet-5-5", Some(1_000_000)),
        ("anthropic::claude-haiku-4-5", Some(200_000)),
        ("openrouter::anthropic/claude-sonnet-4.5", Some(1_000_000)),
        ("openrouter::anthropic/claude-sonnet-4.6", Some(1_000_000)),
        ("openrouter::anthropic/claude-sonnet-5.5", Some(1_000_000)),
        ("openai::gpt-4o-mini", Some(128_000)),
        ("openai_resp::gpt-5-mini", Some(400_000)),
        ("ollama::gpt-oss:20b", None),
        ("ollama::qwen2.5-coder:1.5b", None),
        ("openrouter::nobody/knows", None),
        ("anthropic::nobody", None),
    ] {
        let known = Profile::of(model);
        assert_eq!(known.context_window, window, "{model}");
        let from = if window.is_some() { KnownFrom::Table } else { KnownFrom::Nowhere };
        assert_eq!(known.window_from, from, "{model}");
    }
    for model in Provider::ALL.into_iter().filter_map(Provider::default_model) {
        assert!(Profile::of(model).context_window.is_some(), "{model}");
    }
}

fn router(url: &str, model: &str, profiles: &[(&str, ProfileSettings)]) -> Router {
    let mut settings = Settings::default();
    let server = Connection { base_url: Some(url.to_owned()), ..Connection::default() };
    settings.providers.insert(Provider::split(model).expect("a name").0, server);
    settings.profiles.extend(profiles.iter().map(|(name, known)| ((*name).to_owned(), *known)));
    Router::new(settings, model).expect("a router")
}

#[tokio::test]
async fn profile_settings_override_the_known_profile_of_a_model() {
    let better = ProfileSettings { native_tools: Some(true), context_window: Some(32_768) };
    let router = router("http://127.0.0.1:1", "compatible::tiny-1b", &[("compatible::tiny-1b", better)]);
    let known =
        Profile { native_tools: true, context_window: Some(32_768), window_from: KnownFrom::Settings };
    router.learn(None).await;
    assert_eq!(router.profile(None), known, "and no server is asked");
    assert_eq!(router.profile(Some("compatible::other-1b")), Profile::of("compatible::other-1b"));
}

fn json(body: serde_json::Value) -> Answer {
    Answer::new(body.to_string())
}

/// Returns the requests to a server: method, path and body of each.
fn requests_seen(server: &Server) -> Vec<String> {
    let line = |head: &str| head.split(" http/").next().unwrap_or_default().to_owned();
    let seen = server.seen();
    seen.iter().map(|seen| format!("{} {}", line(&seen.head), seen.body).trim_end().to_owned()).collect()
}

#[tokio::test]
async fn the_context_window_of_a_served_model_is_read_from_its_server_once() {
    const MODELS: &str = "get /v1/models";
    const SHOW: &str = r#"post /api/show {"model":"x"}"#;
    let listed = |data| json!({"data": [data]});
    let servers = [
        ("compatible::x", vec![(MODELS, listed(json!({"id": "x", "max_model_len": 4096})))]),
        (
            "compatible::x",
            vec![(MODELS, listed(json!({"id": "y", "meta": {"n_ctx": 4096, "n_ctx_train": 32768}})))],
        ),
        (
            "compatible::x",
            vec![
                (MODELS, listed(json!({"id": "x", "meta": {"n_ctx_train": 32768}}))),
                ("get /props", json!({"default_generation_settings": {"n_ctx": 4096}})),
            ],
        ),
        (
            "ollama::x",
            vec![("get /api/ps", json!({"models": [{"name": "x:latest", "context_length": 4096}]}))],
        ),
        (
            "ollama::x",
            vec![
                ("get /api/ps", json!({"models": []})),
                (SHOW, json!({"parameters": "stop \"<|end|>\"\nnum_ctx    4096"})),
            ],
        ),
    ];
    for (model, exchange) in servers {
        let (requests, answers): (Vec<&str>, Vec<_>) = exchange.into_iter().unzip();
        let server = Server::start(answers.into_iter().map(json)).await;
        let router = router(&server.url, model, &[]);
        assert_eq!(router.profile(None).window_from, KnownFrom::Nowhere);
        router.learn(None).await;
        router.learn(None).await;
        let known = router.profile(None);
        assert_eq!((known.context_window, known.window_from), (Some(4096), KnownFrom::Server), "{model}");
        assert_eq!(requests_seen(&server), requests, "each is asked once");
    }
}

#[tokio::test]
async fn a_server_that_reports_no_window_leaves_it_unknown() {
    let server = Server::start([json(json!({"data": [{"id": "x"}]})), json(json!({}))]).await;
    let router = router(&server.url, "compatible::x", &[]);
    router.learn(None).await;
    router.learn(None).await;
    assert_eq!(router.profile(None).context_window, None);
    assert_eq!(requests_seen(&server), ["get /v1/models", "get /props"]);
}
