//! The choice of the model behind the engine.

use std::collections::BTreeMap;

use entourage_llm::{
    Choice, Connection, Error, GateStatus, Local, Message, Model, NoDeltas, Provider, Request, Router,
    Settings, choose, choose_offline,
};

use crate::{
    server::{Answer, Server},
    wire::Says,
};

/// An address where nothing answers: no program listens on this port by chance.
pub(crate) const NOWHERE: &str = "http://127.0.0.1:1";

/// Local servers at these addresses, with a timeout for a busy machine.
fn local(ollama: String, compatible: String) -> Local {
    Local { ollama, compatible, wait_ms: 20_000 }
}

fn settings() -> Settings {
    Settings { local: local(NOWHERE.into(), NOWHERE.into()), ..Settings::default() }
}

async fn with(settings: Settings, env: &[(&str, &str)]) -> entourage_llm::Result<Choice> {
    let env: BTreeMap<_, _> = env.iter().copied().collect();
    choose(settings, |name| env.get(name).map(|value| (*value).to_owned())).await
}

async fn ollama() -> Server {
    let tags = r#"{"models": [{"name": "qwen3:8b"}, {"name": "other"}]}"#;
    Server::start([Answer::new(tags).header("content-type", "application/json")]).await
}

async fn llama_cpp() -> Server {
    let models = r#"{"object": "list", "data": [{"id": "local-8b"}]}"#;
    Server::start([Answer::new(models).header("content-type", "application/json")]).await
}

#[tokio::test]
async fn a_model_is_chosen_by_setting_then_key_then_local_then_rehearsal() {
    let (ollama, llama_cpp) = (ollama().await, llama_cpp().await);
    let local = local(ollama.url.clone(), llama_cpp.url.clone());
    let all = Settings { default: Some("openai::set".into()), local, ..Settings::default() };
    let keys = [("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "b"), ("OPENROUTER_API_KEY", "c")];
    let named = [&keys[..], &[("ENTOURAGE_MODEL", "openrouter::named")]].concat();

    let choice = with(all.clone(), &named).await.expect("a choice");
    assert_eq!(choice.default_model, "openrouter::named");
    let choice = with(all.clone(), &keys).await.expect("a choice");
    assert_eq!(choice.default_model, "openai::set");

    let unset = Settings { default: None, ..all };
    for (first, provider) in [(0, "anthropic::"), (1, "openai::"), (2, "openrouter::")] {
        let choice = with(unset.clone(), &keys[first..]).await.expect("a choice");
        assert!(choice.default_model.starts_with(provider), "{}", choice.default_model);
        assert!(choice.why.contains("key"), "{}", choice.why);
    }
    assert!(ollama.seen().is_empty(), "nobody looks for local servers when there is a key");

    let choice = with(unset.clone(), &[("OPENAI_API_KEY", "  ")]).await.expect("a choice");
    assert_eq!(choice.default_model, "ollama::qwen3:8b", "an empty key is none");
    let no_ollama = Settings { local: Local { ollama: NOWHERE.into(), ..unset.local.clone() }, ..unset };
    let choice = with(no_ollama, &[]).await.expect("a choice");
    assert_eq!(choice.default_model, "compatible::local-8b");
    let choice = with(settings(), &[]).await.expect("a choice");
    assert_eq!(choice.default_model, "rehearsal");
    assert!(choice.model.disclaimer().is_some());
}

#[tokio::test]
async fn the_choice_lists_everything_that_was_tried() {
    let choice = with(settings(), &[]).await.expect("a choice");
    let what: Vec<_> = choice.tried.iter().map(|tried| (tried.what.as_str(), tried.found.is_ok())).collect();
    assert_eq!(what.len(), 7, "{what:?}");
    for (index, part) in
        ["ENTOURAGE_MODEL", "ANTHROPIC", "OPENAI", "OPENROUTER", "Ollama", "llama.cpp"].iter().enumerate()
    {
        assert!(what[index].0.contains(part) && !what[index].1, "{what:?}");
    }
    assert_eq!(what[6], ("rehearsal", true));
}

#[tokio::test]
async fn a_local_server_that_hangs_or_has_no_model_is_skipped() {
    let hangs = Server::start([Answer::mute()]).await;
    let empty = Server::start([Answer::new(r#"{"data": []}"#)]).await;
    let local = Local { wait_ms: 500, ..local(hangs.url.clone(), empty.url.clone()) };
    let choice = with(Settings { local, ..Settings::default() }, &[]).await.expect("a choice");
    assert_eq!(choice.default_model, "rehearsal");
    let why: Vec<_> = choice.tried.iter().filter_map(|tried| tried.found.clone().err()).collect();
    assert!(why.iter().any(|why| why.contains("500 ms")), "{why:?}");
    assert!(why.iter().any(|why| why.contains("no model yet")), "{why:?}");
}

/// A configured address is not a guess: the engine waits for it, and reports it if it fails.
#[tokio::test]
async fn a_configured_server_is_waited_for_and_precedes_default_addresses() {
    let (ollama, set) = (ollama().await, llama_cpp().await);
    let hurried = Local { wait_ms: 0, ..local(ollama.url.clone(), NOWHERE.into()) };
    let settings = Settings { local: hurried, ..Settings::default() };
    let at = format!("{}/v1", set.url);
    let choice = with(settings, &[("COMPATIBLE_BASE_URL", &at)]).await.expect("a choice");
    assert_eq!(choice.default_model, "compatible::local-8b");
    assert!(choice.why.contains("address is set"), "{}", choice.why);
    assert!(set.seen()[0].head.starts_with("get /v1/models "), "{:?}", set.seen());
    assert!(ollama.seen().is_empty(), "nobody guesses where an address is set");
}

#[tokio::test]
async fn a_configured_server_without_a_model_is_an_error() {
    let empty = Server::start([Answer::new(r#"{"models": []}"#)]).await;
    let other = Server::start([Answer::status(404, "no")]).await;
    let cases = [
        (NOWHERE.to_owned(), "nothing answers there"),
        (empty.url.clone(), "has no model yet"),
        (other.url.clone(), "no list of models"),
        ("http://me:word@127.0.0.1:1".to_owned(), "at http://127.0.0.1:1: "),
        ("127.0.0.1:1".to_owned(), "at http://127.0.0.1:1: "),
    ];
    for (address, why) in cases {
        let error = with(settings(), &[("OLLAMA_BASE_URL", &address)]).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Configuration(_)) && text.contains(why), "{text}");
        for part in ["Ollama at", "`models.providers.ollama.base_url` (OLLAMA_BASE_URL)", "ENTOURAGE_MODEL"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("word"), "{text}");
        let named = [("OLLAMA_BASE_URL", address.as_str()), ("ENTOURAGE_MODEL", "ollama::later")];
        assert_eq!(with(settings(), &named).await.expect("a choice").default_model, "ollama::later");
    }
    // An error in another setting is not attributed to a working server.
    let well = llama_cpp().await;
    let fallback = Settings { fallback: vec!["nobody::x".into()], ..settings() };
    let error = with(fallback, &[("COMPATIBLE_BASE_URL", &well.url)]).await.unwrap_err().to_string();
    assert!(error.contains("`nobody::x`") && !error.contains("server"), "{error}");
    // One of two configured servers is enough, and its address needs no scheme.
    let there = llama_cpp().await;
    let bare = there.url.replacen("http://", "", 1);
    let both = [("OLLAMA_BASE_URL", NOWHERE), ("COMPATIBLE_BASE_URL", bare.as_str())];
    let choice = with(settings(), &both).await.expect("a choice");
    assert_eq!(choice.default_model, "compatible::local-8b");
}

/// A busy server takes longer than a probe of a default address may.
#[tokio::test(start_paused = true)]
async fn a_configured_server_that_hangs_is_an_error_after_five_seconds() {
    let hangs = Server::start([Answer::mute()]).await;
    let settings = Settings { local: Local { wait_ms: 150, ..settings().local }, ..Settings::default() };
    let error = with(settings, &[("COMPATIBLE_BASE_URL", &hangs.url)]).await.unwrap_err().to_string();
    assert!(error.contains("no answer within 5000 ms"), "{error}");
}

#[tokio::test]
async fn a_configured_model_that_cannot_work_is_an_error() {
    let cases = [
        ("gpt-4o", "names no provider"),
        ("nobody::gpt", "unknown provider"),
        ("anthropic::m", "ANTHROPIC_API_KEY"),
        ("compatible::m", "base_url"),
    ];
    for (model, part) in cases {
        let error = with(settings(), &[("ENTOURAGE_MODEL", model)]).await.unwrap_err();
        assert!(matches!(error, Error::Configuration(_)) && error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_model_of_a_local_server_can_be_chosen_by_name() {
    let server = llama_cpp().await;
    let settings = Settings { local: local(NOWHERE.into(), server.url.clone()), ..Settings::default() };
    let named = "compatible::local-8b";
    assert_eq!(with(settings.clone(), &[]).await.expect("a choice").default_model, named);
    let choice = with(settings.clone(), &[("ENTOURAGE_MODEL", named)]).await.expect("a choice");
    assert_eq!(choice.default_model, named);
    let offline = Settings { default: Some(named.into()), ..settings };
    assert_eq!(choose_offline(offline, |_| None).expect("a choice").default_model, named);
}

fn ask(model: Option<&str>) -> Request {
    Request {
        model: model.map(Into::into),
        messages: vec![Message::User("Hello?".into())],
        ..Request::default()
    }
}

/// Shows: S4-R131.
#[tokio::test]
async fn the_model_name_in_a_request_selects_the_provider() {
    let anthropic = Server::start([Says::text("from Anthropic").answer(Provider::Anthropic)]).await;
    let compatible = Server::start([Says::text("from the other").answer(Provider::Compatible)]).await;
    let mut settings = settings();
    let there = |server: &Server| Connection { base_url: Some(server.url.clone()), ..Connection::default() };
    settings.providers.insert(Provider::Compatible, there(&compatible));
    let env = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", anthropic.url.as_str())];
    let model = with(settings, &env).await.expect("a choice").model;

    let reply = model.call(ask(None), &mut NoDeltas).await.expect("a reply");
    assert_eq!(reply.text, "from Anthropic");
    assert!(reply.model.starts_with("anthropic::claude-"), "{}", reply.model);
    let reply = model.call(ask(Some("compatible::x")), &mut NoDeltas).await.expect("a reply");
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("from the other", "compatible::x"));
    let reply = model.call(ask(Some("rehearsal")), &mut NoDeltas).await.expect("a reply");
    assert!(reply.text.contains("rehearsal model"), "{}", reply.text);
    let error = model.call(ask(Some("openrouter::x")), &mut NoDeltas).await.unwrap_err();
    assert!(error.to_string().contains("OPENROUTER_API_KEY"), "{error}");
    assert_eq!(model.disclaimer(), None);
}

#[tokio::test]
async fn both_openai_protocols_share_one_key_and_address() {
    let server = Server::start([Says::text("Hi.").answer(Provider::OpenAiResp)]).await;
    let mut settings = settings();
    let openai =
        Connection { base_url: Some(server.url.clone()), key: Some("k".into()), ..Connection::default() };
    settings.providers.insert(Provider::OpenAi, openai);
    settings
        .providers
        .insert(Provider::OpenAiResp, Connection { concurrency: Some(1), ..Connection::default() });
    let model = with(settings, &[]).await.expect("a choice").model;
    let reply = model.call(ask(Some("openai_resp::m")), &mut NoDeltas).await.expect("a reply");
    assert_eq!(reply.model, "openai_resp::m");
    assert!(server.seen()[0].head.starts_with("post /v1/responses "));
}

#[tokio::test]
async fn a_pause_applies_to_all_callers_of_that_model_only() {
    let slow_down = Answer::status(429, "{}").header("retry-after", "30");
    let server = Server::start([slow_down, Says::text("Hi.").answer(Provider::Compatible)]).await;
    let mut settings = settings();
    let there = Connection { base_url: Some(server.url.clone()), ..Connection::default() };
    settings.providers.insert(Provider::Compatible, there);
    settings.fallback = vec!["compatible::b".into()];
    let router = Router::new(settings, "compatible::a").expect("a router");
    assert_eq!(router.fallback(), ["compatible::b"]);
    let error = router.call(ask(None), &mut NoDeltas).await.unwrap_err();
    assert!(matches!(error, Error::RateLimited { .. }), "{error:?}");
    let error = router.call(ask(Some("compatible::a")), &mut NoDeltas).await.unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error:?}");
    assert_eq!(server.seen().len(), 1, "it was not asked again");
    router.call(ask(Some("compatible::b")), &mut NoDeltas).await.expect("the other model has its own gate");
    let doors: Vec<_> = router.gates().into_iter().map(|gate| (gate.model, gate.door)).collect();
    assert!(matches!(&doors[0], (model, GateStatus::Paused(_)) if model == "compatible::a"), "{doors:?}");
    assert_eq!(doors[1], ("compatible::b".into(), GateStatus::Open));
}

#[test]
fn settings_are_parsed_and_unknown_fields_rejected() {
    let given = serde_json::json!({
        "default": "compatible::x",
        "fallback": ["compatible::y"],
        "providers": {"compatible": {"base_url": "http://127.0.0.1:1/v1", "key": "k", "concurrency": 2,
                                     "requests_per_minute": 60},
                      "openai_resp": {"header_seconds": 1.5}},
        "prices": {"compatible::x": {"input": 1.0, "output": 2.0}},
        "profiles": {"compatible::x": {"native_tools": false}},
    });
    let settings: Settings = serde_json::from_value(given).expect("settings");
    assert_eq!(settings.fallback, ["compatible::y"]);
    assert_eq!(settings.providers[&Provider::Compatible].requests_per_minute, Some(60));
    assert_eq!(settings.providers[&Provider::Compatible].concurrency, Some(2));
    assert_eq!(settings.providers[&Provider::OpenAiResp].header_timeout().as_millis(), 1500);
    for wrong in [
        r#"{"defualt": "x"}"#,
        r#"{"providers": {"openai": {"keys": "x"}}}"#,
        r#"{"providers": {"gpt": {}}}"#,
    ] {
        assert!(serde_json::from_str::<Settings>(wrong).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn a_local_server_with_an_oversized_list_is_skipped() {
    let endless = format!(r#"{{"data": [{{"id": "one"}}], "rest": "{}"}}"#, "x".repeat(9 << 20));
    let server = Server::start([Answer::new(endless)]).await;
    let settings = Settings { local: local(NOWHERE.into(), server.url.clone()), ..Settings::default() };
    assert_eq!(with(settings, &[]).await.expect("a choice").default_model, "rehearsal");
}

#[tokio::test]
async fn a_key_given_as_a_model_name_is_not_repeated_in_the_error() {
    for key in ["sk-canary-4f1d9c".to_owned(), "Abcdefghij0123456789".repeat(2)] {
        let error = with(settings(), &[("ENTOURAGE_MODEL", &key)]).await.unwrap_err().to_string();
        assert!(error.contains("looks like a key") && !error.contains(&key), "{error}");
    }
    let error = with(settings(), &[("ENTOURAGE_MODEL", "qwen3:8b")]).await.unwrap_err().to_string();
    assert!(error.contains("the model `qwen3:8b` names no provider"), "{error}");
}
