//! Tests of the settings as a page and as a file to start from.

use std::fs;

use entourage::{Settings, settings};

use serde_json::json;

use super::data_dir::{DataDir, Ended};

#[test]
fn the_settings_page_in_the_repository_is_current() {
    let page = DataDir::new().entourage(&["settings"]).good().stdout;
    let kept = include_str!("../../../../docs/settings.md");
    assert!(page == kept, "write it anew: cargo run -p entourage -- settings > docs/settings.md");
}

#[test]
fn settings_json_prints_one_line_for_every_setting() {
    let lines = DataDir::new().entourage(&["settings", "--json"]).good().json();
    let told: Vec<&str> = lines.iter().filter_map(|line| line["key"].as_str()).collect();
    let known: Vec<String> = settings::keys().iter().map(settings::Key::dotted).collect();
    assert_eq!(told, known);
    let line = |key: &str| lines.iter().find(|line| line["key"] == key).expect("a line");
    assert_eq!(line("server.bind")["default"], "\"127.0.0.1:4180\"");
    assert_eq!(line("store.durability")["values"][1]["value"], "normal");
    assert!(line("models.providers.NAME.key")["default"].is_null());
}

/// The variable wins over the file, and the option over both.
#[test]
fn settings_in_force_shows_what_holds_and_what_set_it() {
    let place = DataDir::new();
    place.write("data/entourage.toml", "[dispatch]\nconcurrency = 3\n[models]\ndefault = \"openai::x\"\n");
    let mut command = place.command(&["settings", "--in-force", "--json"]);
    let lines = Ended::of(command.env("ENTOURAGE_DISPATCH__CONCURRENCY", "8")).good().json();
    let line = |key: &str| lines.iter().find(|line| line["key"] == key).expect("a line");
    let concurrency = line("dispatch.concurrency");
    assert_eq!((&concurrency["value"], &concurrency["set_by"]), (&json!("8"), &json!("variable")));
    assert_eq!(concurrency["set_in"], "ENTOURAGE_DISPATCH__CONCURRENCY");
    assert_eq!(line("server.streams")["set_by"], "default");

    let shown = place.entourage(&["settings", "--in-force", "--model", "rehearsal"]).good().stdout;
    assert!(shown.starts_with("dispatch.concurrency = 3  "), "what was set comes first: {shown}");
    assert!(shown.contains("models.default = \"rehearsal\"  --model\n"), "{shown}");
    assert!(shown.contains("retention.trees = (not set)  default\n"), "{shown}");
}

#[test]
fn every_setting_has_a_description_and_its_default() {
    let keys = settings::keys();
    let missing: Vec<String> =
        keys.iter().filter(|key| key.what.is_empty()).map(settings::Key::dotted).collect();
    assert_eq!(missing, Vec::<String>::new(), "no doc comment");
    let dotted: Vec<String> = keys.iter().map(settings::Key::dotted).collect();
    for key in [
        "dispatch.concurrency",
        "dispatch.give_up_after",
        "dispatch.grace_seconds",
        "documents.acts_at_once",
        "models.fallback",
        "models.local.wait_ms",
        "models.prices.NAME.cached",
        "models.profiles.NAME.context_window",
        "models.providers.NAME.header_seconds",
        "models.providers.NAME.key",
        "models.providers.NAME.silence_seconds",
        "retention.requests",
        "server.auth",
        "server.auth.jwt.algorithm",
        "server.auth.jwt.key",
        "server.body_limit",
        "server.grace",
        "server.heartbeat",
        "server.webhooks.NAME.secret",
        "store.durability",
        "telemetry.content",
        "tools.fetch.allow",
        "tools.mcp[].command",
        "tools.mcp[].env",
        "webhooks.NAME.events",
    ] {
        assert!(dotted.iter().any(|known| known == key), "{key} is not among {dotted:?}");
    }
    let default =
        |path: &str| keys.iter().find(|key| key.dotted() == path).and_then(|key| key.default.clone());
    assert_eq!(default("server.bind").as_deref(), Some("\"127.0.0.1:4180\""));
    assert_eq!(default("documents.acts_at_once").as_deref(), Some("10"));
    assert_eq!(default("server.heartbeat").as_deref(), Some("15"));
    assert_eq!(default("retention.requests").as_deref(), Some("\"1d\""));
    assert_eq!(default("store.durability").as_deref(), Some("\"full\""));
    assert_eq!(default("models.providers.NAME.key"), None);
}

#[test]
fn the_settings_file_of_init_is_commented_out_and_its_defaults_load() {
    let place = DataDir::new();
    place.entourage(&["init"]).good();
    let file = place.data().join("entourage.toml");
    let text = fs::read_to_string(&file).expect("written");
    assert!(!text.lines().any(|line| !line.is_empty() && !line.starts_with('#')), "{text}");
    let taken = |line: &&str| {
        let line = line.strip_prefix('#').unwrap_or(line);
        let is_head = line.starts_with('[') && !line.contains("NAME") && !line.contains("[[");
        is_head || (line.contains(" = ") && !line.contains('…') && !line.starts_with(' '))
    };
    // Tables with names of one's own are left out, and so is the one that needs a path.
    let own: String = text
        .split("\n\n")
        .filter(|table| !["NAME", "[[", "#[tools.files]"].iter().any(|own| table.contains(own)))
        .map(|table| table.lines().filter(taken).collect::<Vec<_>>())
        .filter(|lines| lines.iter().any(|line| line.contains(" = ")))
        .flatten()
        .map(|line| format!("{}\n", line.trim_start_matches('#')))
        .collect();
    assert!(own.contains("[server]\n") && own.contains("migrate = true\n"), "{own}");
    fs::write(&file, &own).expect("written");
    let settings = Settings::load(Some(&place.data()), Some(&file)).expect("each default is one");
    assert_eq!(format!("{:?}", settings.store), format!("{:?}", Settings::default().store));
    assert_eq!(settings.retention, Settings::default().retention);
}

#[test]
fn init_writes_what_is_missing_of_settings_and_a_kind_and_overwrites_nothing() {
    let place = DataDir::new();
    let first = place.entourage(&["init"]).good();
    assert!(first.stdout.contains("entourage.toml") && first.stdout.contains("critic.md"), "{first:?}");
    assert!(place.entourage(&["kinds"]).good().stdout.contains("critic"));
    place.entourage(&["kinds", "check"]).good();

    let file = place.write("data/entourage.toml", "[models]\n");
    let again = place.entourage(&["init"]);
    let told = again.error(2);
    assert!(told.contains("entourage.toml and ") && told.contains("critic.md already exist"), "{again:?}");
    assert_eq!(fs::read_to_string(&file).expect("there"), "[models]\n");
    // Whoever has written a kind first gets the settings.
    fs::remove_file(&file).expect("there");
    let again = place.entourage(&["init"]).good();
    assert!(again.stderr.contains("critic.md already exists, and stays as it is"), "{again:?}");
    assert!(again.stdout.contains("entourage.toml") && !again.stdout.contains("critic.md"), "{again:?}");
    assert!(file.exists());
}
