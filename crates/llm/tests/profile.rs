//! What is known about a model from its name.

use entourage_llm::{Connection, Model, Profile, ProfileSettings, Provider, Router, Settings};

#[test]
fn small_models_are_weak_and_others_are_not() {
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
fn windows_are_known_and_careful_where_they_are_not() {
    for (model, window) in [
        ("anthropic::claude-sonnet-5-5", 1_000_000),
        ("anthropic::claude-haiku-4-5", 200_000),
        ("openrouter::anthropic/claude-sonnet-4.5", 200_000),
        ("openrouter::anthropic/claude-sonnet-4.6", 1_000_000),
        ("openrouter::anthropic/claude-sonnet-5.5", 1_000_000),
        ("openai::gpt-4o-mini", 128_000),
        ("openai::gpt-5-mini", 400_000),
        ("ollama::gpt-oss:20b", 8_192),
        ("ollama::qwen2.5-coder:1.5b", 4_096),
        ("openrouter::nobody/knows", 128_000),
    ] {
        assert_eq!(Profile::of(model).context_window, window, "{model}");
    }
}

#[test]
fn the_operator_knows_better() {
    let mut settings = Settings::default();
    let server = Connection { base_url: Some("http://127.0.0.1:1".into()), ..Connection::default() };
    settings.providers.insert(Provider::Compatible, server);
    let better =
        ProfileSettings { native_tools: Some(true), context_window: Some(32_768), max_output: Some(2_000) };
    settings.profiles.insert("compatible::tiny-1b".into(), better);
    let router = Router::new(settings, "compatible::tiny-1b").expect("a router");
    let known = Profile { native_tools: true, context_window: 32_768, max_output: Some(2_000) };
    assert_eq!(router.profile(None), known);
    assert_eq!(router.profile(Some("compatible::other-1b")), Profile::of("compatible::other-1b"));
}
