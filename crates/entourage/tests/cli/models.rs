//! Tests that models are asked before agents use them.

use super::{
    data_dir::{DataDir, Ended},
    provider::{KEY, Provider},
};

/// Runs a command with these settings, which name a model.
fn run_with_settings(place: &DataDir, settings: &str, arguments: &[&str]) -> Ended {
    place.write("data/entourage.toml", settings);
    Ended::of(place.command(arguments).env_remove("ENTOURAGE_MODEL"))
}

/// The doctor's lines on models.
fn findings(ended: &Ended) -> Vec<String> {
    let of_models =
        |line: &&str| line.contains(" model ") || line.contains(" fallback ") || line.contains(" summary ");
    ended.stdout.lines().filter(of_models).map(str::to_owned).collect()
}

#[test]
fn doctor_asks_the_provider_about_the_model_that_agents_use() {
    let (place, provider) = (DataDir::new(), Provider::start());
    let well = run_with_settings(&place, &provider.settings("listed", KEY), &["doctor"]).good();
    let lines = findings(&well);
    assert!(lines[0].starts_with("✓ model") && lines[0].contains("costs nothing"), "{well:?}");

    let unlisted = run_with_settings(&place, &provider.settings("unlisted", KEY), &["doctor"]).good();
    let lines = findings(&unlisted);
    assert!(lines[0].starts_with("✓ model") && lines[0].contains("one call: 12 tokens"), "{unlisted:?}");

    let unknown = run_with_settings(&place, &provider.settings("unknown", KEY), &["doctor"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    let lines = findings(&unknown);
    assert!(lines[0].starts_with("✗ model") && lines[0].contains("The model does not exist"), "{unknown:?}");
    assert!(lines[0].contains("entourage models"), "{unknown:?}");

    let key = run_with_settings(&place, &provider.settings("listed", "sk-bad"), &["doctor"]);
    assert_eq!(key.code, 1, "{key:?}");
    let lines = findings(&key);
    assert!(lines[0].starts_with("✗ model") && lines[0].contains("OPENAI_API_KEY"), "{key:?}");
    assert!(!key.stdout.contains("sk-bad"), "{key:?}");

    let elsewhere = Provider { url: provider.url.replace("/v1", "/elsewhere") };
    let lost = run_with_settings(&place, &elsewhere.settings("unknown", KEY), &["doctor"]);
    assert_eq!(lost.code, 1, "{lost:?}");
    let hint = "so the path of `models.providers.openai.base_url` is probably wrong";
    assert!(findings(&lost)[0].contains(hint) && !findings(&unknown)[0].contains(hint), "{lost:?}");

    let nowhere = Provider { url: "http://127.0.0.1:1/v1".into() };
    let dead = run_with_settings(&place, &nowhere.settings("listed", KEY), &["doctor"]);
    assert_eq!(dead.code, 1, "{dead:?}");
    assert!(findings(&dead)[0].contains("cannot be reached"), "{dead:?}");
    assert!(findings(&dead)[0].contains("openai at http://127.0.0.1:1/v1/"), "what was asked: {dead:?}");
    let offline =
        run_with_settings(&place, &nowhere.settings("listed", KEY), &["doctor", "--offline"]).good();
    assert!(findings(&offline)[0].contains("--offline"), "{offline:?}");
}

/// Offline, no server is asked, even if only a server could tell which models there are.
#[test]
fn doctor_offline_contacts_no_server() {
    let place = DataDir::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it can");
    let address = format!("http://{}/v1", listener.local_addr().expect("it has one"));
    let mut command = place.command(&["doctor", "--offline"]);
    let looked = Ended::of(command.env_remove("ENTOURAGE_MODEL").env("COMPATIBLE_BASE_URL", &address)).good();
    assert!(findings(&looked)[0].contains("the first model of a server that answers"), "{looked:?}");
    let asked = listener.accept().expect_err("nobody has asked");
    assert_eq!(asked.kind(), std::io::ErrorKind::WouldBlock);
    // Settings that would keep a start from working are found all the same.
    place.write("data/entourage.toml", "[models]\nfallback = [\"nonsense\"]\n");
    let wrong = Ended::of(place.command(&["doctor", "--offline"]).env_remove("ENTOURAGE_MODEL"));
    assert!(wrong.code == 1 && findings(&wrong)[0].contains("nonsense"), "{wrong:?}");
}

/// An error in the default model names the place that sets it, which need not be the file.
#[test]
fn doctor_and_errors_name_the_source_of_the_default_model() {
    let place = DataDir::new();
    place.write("data/entourage.toml", "[models]\ndefault = \"compatible::file\"\n");
    let with = |variable: &str, model: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env_remove("ENTOURAGE_MODEL").env("COMPATIBLE_BASE_URL", "http://127.0.0.1:1/v1");
        Ended::of(command.env(variable, model))
    };
    let doctor = ["doctor", "--offline"];
    for variable in ["ENTOURAGE_MODEL", "ENTOURAGE_MODELS__DEFAULT"] {
        let looked = with(variable, "compatible::set", &doctor);
        assert!(
            findings(&looked)[0].contains(&format!("set: the variable {variable} says so")),
            "{looked:?}"
        );
        let looked =
            with(variable, "compatible::set", &["doctor", "--offline", "--model", "compatible::typed"]);
        assert!(findings(&looked)[0].contains("compatible::typed: --model says so"), "{looked:?}");
        let wrong = with(variable, "gpt", &["run", "x"]);
        let named = format!("{variable}: the model `gpt` names no provider");
        assert!(wrong.error(2).contains(&named), "{wrong:?}");
    }
    let looked = with("UNRELATED", "x", &doctor);
    let named = "compatible::file: the setting `models.default` says so";
    assert!(findings(&looked)[0].contains(named), "{looked:?}");
}

#[test]
fn doctor_also_checks_the_fallback_and_summary_models() {
    let (place, provider) = (DataDir::new(), Provider::start());
    let settings = provider.settings("listed", KEY);
    let settings = settings.replacen(
        "[models]\n",
        "[models]\nfallback = [\"openai::unknown\"]\nsummary = \"openai::another\"\n",
        1,
    );
    let ended = run_with_settings(&place, &settings, &["doctor"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let signs: Vec<String> = findings(&ended)
        .iter()
        .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(signs, ["✓ model", "✗ fallback", "✓ summary"], "{ended:?}");
}

#[test]
fn models_lists_what_providers_offer_and_models_test_calls_one() {
    let (place, provider) = (DataDir::new(), Provider::start());
    let settings = provider.settings("listed", KEY);
    // Ollama is not set up.
    let others = run_with_settings(&place, &settings, &["models"]).good();
    assert!(!others.stderr.contains("ollama"), "{others:?}");
    let listed = run_with_settings(&place, &settings, &["models", "--quiet"]).good();
    for model in ["openai::another", "openai::listed", "openai_resp::listed"] {
        assert!(listed.stdout.lines().any(|line| line == model), "{listed:?}");
    }
    let tried = run_with_settings(&place, &settings, &["models", "test"]).good();
    assert_eq!(tried.stdout, "openai::listed answers (one call: 12 tokens, price not known)\n");
    let json =
        run_with_settings(&place, &settings, &["models", "test", "openai::unlisted", "--json"]).good().json();
    assert_eq!(json[0]["model"], "openai::unlisted");
    let unknown = run_with_settings(&place, &settings, &["models", "test", "openai::unknown"]);
    assert!(unknown.error(1).contains("The model does not exist"), "{unknown:?}");
    let nameless = run_with_settings(&place, &settings, &["models", "test", "listed"]);
    assert!(nameless.error(2).contains("provider::name"), "{nameless:?}");
}

/// A user who named an unknown model needs the list; a command that needs the model is refused.
#[test]
fn models_lists_models_even_if_the_configured_one_is_unusable() {
    let (place, provider) = (DataDir::new(), Provider::start());
    place.write("data/entourage.toml", &provider.settings("listed", KEY));
    for (model, why) in [
        ("nonsense", "the variable ENTOURAGE_MODEL: the model `nonsense` names no provider"),
        ("anthropic::claude", "ANTHROPIC_API_KEY"),
    ] {
        let with = |arguments: &[&str]| Ended::of(place.command(arguments).env("ENTOURAGE_MODEL", model));
        let listed = with(&["models"]).good();
        assert!(listed.stdout.lines().any(|line| line == "openai::another"), "{listed:?}");
        let note = listed.stderr.lines().find(|line| line.starts_with("agents cannot work: "));
        assert!(note.is_some_and(|note| note.contains(why)), "{listed:?}");
        assert!(!listed.stderr.contains("agents use "), "{listed:?}");
        // Nothing else reports it.
        let quiet = with(&["models", "--quiet"]).good();
        assert!(quiet.stderr.lines().any(|line| line.starts_with("agents cannot work: ")), "{quiet:?}");
        for refused in [&["models", "test"][..], &["run", "x"]] {
            assert!(with(refused).error(2).contains(why), "{refused:?}");
        }
    }
}

/// The assumed size of the window, and its source.
#[test]
fn doctor_reports_the_context_window_and_its_source() {
    let (place, provider) = (DataDir::new(), Provider::start());
    let listed = provider.settings("listed", KEY);
    let compatible = provider.settings("another", KEY).replace("openai", "compatible");
    let profile = "[models.profiles.\"openai::listed\"]\ncontext_window = 32000\n";
    for (settings, window) in [
        (listed.clone(), "window: none assumed, its size is unknown"),
        (format!("{listed}{profile}"), "window: 32000 tokens, the settings say so"),
        (compatible, "window: 16384 tokens, its server says so"),
        (provider.settings("gpt-4o", KEY), "window: 128000 tokens, the table of models says so"),
    ] {
        let ended = run_with_settings(&place, &settings, &["doctor"]);
        let seen = |line: &str| line.trim().starts_with("window: ").then(|| line.trim().to_owned());
        assert_eq!(ended.stdout.lines().filter_map(seen).collect::<Vec<_>>(), [window], "{ended:?}");
        let json = run_with_settings(&place, &settings, &["doctor", "--json"]).json();
        let model = json.iter().find(|finding| finding["what"] == "model").expect("a finding");
        let seen = model["seen"].as_array().expect("what was seen");
        assert!(seen.iter().any(|seen| seen == window), "{model}");
    }
}
