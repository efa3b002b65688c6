//! Settings from files, variables and options.

use super::*;

fn load(file: &str, variables: &[(&str, &str)]) -> Result<Settings> {
    let data = tempfile::tempdir().expect("a directory");
    fs::write(data.path().join(FILE), file).expect("writable");
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Settings::from_sources(Some(data.path()), None, variables)
}

#[test]
fn an_explicit_data_directory_or_file_overrides_entourage_data() {
    let [here, there] = ["one", "two"].map(|model| {
        let data = tempfile::tempdir().expect("a directory");
        fs::write(data.path().join(FILE), format!("[models]\ndefault = \"{model}\"")).expect("writable");
        data
    });
    let load = |data: Option<&Path>, file: Option<&Path>| {
        let data_there = ("ENTOURAGE_DATA".to_owned(), there.path().display().to_string());
        let settings = Settings::from_sources(data, file, [data_there].into_iter()).expect("they are read");
        settings.models.default
    };
    assert_eq!(load(None, None).as_deref(), Some("two"));
    assert_eq!(load(Some(here.path()), None).as_deref(), Some("one"));
    assert_eq!(load(None, Some(&here.path().join(FILE))).as_deref(), Some("one"));
}

#[test]
fn environment_variables_override_the_file_and_leave_other_settings() {
    let file = "[dispatch]\nconcurrency = 3\n[server]\nbind = \"127.0.0.1:1\"\n\
                auth.jwt.algorithm = \"HS256\"\n";
    let settings = load(
        file,
        &[
            ("ENTOURAGE_DISPATCH__CONCURRENCY", "7"),
            ("ENTOURAGE_TOOLS__FETCH__ALLOW", "localhost:8080, wiki"),
            ("ENTOURAGE_MODELS__PROVIDERS__ANTHROPIC__KEY", "0123"),
            ("ENTOURAGE_STORE__DURABILITY", "normal"),
            ("ENTOURAGE_MODEL", "rehearsal"),
            ("ENTOURAGE_SERVER__BODY_LIMIT", ""),
            ("ENTOURAGE_SERVER__AUTH__JWT__KEY", "from the environment, as secrets should be"),
            ("UNRELATED", "x"),
        ],
    )
    .expect("valid");
    assert_eq!(settings.dispatch.concurrency, 7);
    assert_eq!(settings.server.bind.port(), 1);
    assert_eq!(settings.models.default.as_deref(), Some("rehearsal"));
    assert_eq!(settings.names_model(), Some("the variable ENTOURAGE_MODEL"));
    assert_eq!(settings.tools.fetch.allow.len(), 2);
    assert_eq!(settings.models.providers.len(), 1);
    assert_eq!(settings.store.durability, super::super::Durability::Normal);
}

/// Shows: S4-R057, S4-R058.
#[test]
fn the_sessions_of_kinds_that_say_nothing_are_set_by_two_variables_of_another_name() {
    let variables = [("AGENT_SESSION_TIMEOUT", "45"), ("AGENT_HISTORY_SUMMARY_COUNT", "3")];
    let settings = load("", &variables).expect("valid");
    assert_eq!((settings.sessions.idle_minutes, settings.sessions.summaries), (45, 3));
    let kinds = crate::compose::loaded_kinds(&settings).expect("they load").0;
    let [goal, general] = ["goal", "general"].map(|name| kinds.get(name).expect("it is built in"));
    assert_eq!((goal.context.idle_minutes(), goal.context.summaries()), (45, 3));
    let usual = crate::compose::loaded_kinds(&load("", &[]).expect("valid")).expect("they load").0;
    assert_eq!(usual.get("goal").expect("it is built in").context.idle_minutes(), 30);
    assert_ne!(
        usual.get("general").expect("it is built in").version,
        general.version,
        "it is another version"
    );
    // The file and the variable of this program win, and what is wrong is named as it was set.
    let file = "[sessions]\nidle_minutes = 5\n";
    assert_eq!(load(file, &variables).expect("valid").sessions.idle_minutes, 5);
    let both = [variables[0], ("ENTOURAGE_SESSIONS__IDLE_MINUTES", "7")];
    assert_eq!(load("", &both).expect("valid").sessions.idle_minutes, 7);
    for wrong in ["soon", "0", "-1"] {
        let why = load("", &[("AGENT_SESSION_TIMEOUT", wrong)]).expect_err("wrong").to_string();
        assert!(why.starts_with("the variable AGENT_SESSION_TIMEOUT: "), "{why}");
    }
}

/// A program that sets another model afterwards gets errors about its own mistakes, not about the
/// variable's.
#[test]
fn a_model_set_later_is_not_attributed_to_the_variable() {
    let mut settings = load("", &[("ENTOURAGE_MODEL", "rehearsal")]).expect("valid");
    settings.models.default = Some("openai::gpt-5-mini".to_owned());
    assert_eq!(settings.names_model(), None);
}

#[test]
fn the_settings_in_the_readme_load_unchanged() {
    let readme = include_str!("../../../../../README.md");
    let (_, rest) = readme.split_once("```toml\n").expect("settings");
    let settings = load(rest.split("```").next().expect("an end"), &[]).expect("valid");
    assert_eq!(settings.models.fallback, ["openai::gpt-5-mini"]);
    assert_eq!((settings.models.default.is_some(), settings.names_model()), (true, None));
    let anthropic = &settings.models.providers[&entourage_llm::Provider::Anthropic];
    assert_eq!(anthropic.requests_per_minute, Some(50));
    assert!(settings.telemetry.otlp_endpoint.is_some() && settings.retention.trees.is_some());
}

#[test]
fn map_keys_keep_their_capitals_and_colons() {
    let file = "[models.prices.\"compatible::My-Model\"]\ninput = 1.0\noutput = 2.0\n\
                [[tools.mcp]]\nname = \"x\"\ncommand = \"x\"\nenv = { API_Token = \"y\" }\n";
    let settings = load(file, &[]).expect("valid");
    assert!(settings.models.prices.contains_key("compatible::My-Model"));
    let entourage_tools::McpTransport::Command { env, .. } = &settings.tools.mcp[0].transport else {
        panic!("a command was set");
    };
    assert!(env.contains_key("API_Token"));
}

#[test]
fn every_settings_error_names_its_file_line_and_key() {
    let place =
        |file: &str, variables: &[(&str, &str)]| load(file, variables).expect_err("wrong").to_string();
    assert!(place("\n\n[server]\nbnd = \"x\"\n", &[]).contains("entourage.toml:4: unknown field `bnd`"));
    assert!(
        place("[dispatch]\nconcurrency = \"many\"\n", &[])
            .contains("entourage.toml:2: `concurrency`: invalid type")
    );
    assert!(place("x = [", &[]).contains("entourage.toml:1: "));
    for (file, named) in [
        ("server = { streams = \"x\" }", ":1: `server.streams`: invalid type"),
        ("server = { bind = \"127.0.0.1:1\", bnd = 1 }", ":1: `server`: unknown field `bnd`"),
        (r#"models = { default = "{\"=,", local = { wait_ms = "x" } }"#, ":1: `models.local.wait_ms`: "),
        ("[models]\nprices = { \"a::b\" = { input = \"x\" } }", ":2: `prices`: "),
        (
            "[models]\nprices = { \"a::b\" = { input = -1.0, output = 1.0 } }",
            ":2: `prices`: a price is 0 to 1000000 US dollars",
        ),
        ("[models]\nfallback = ['{\"', [], \"b\"]", ":2: `fallback`: invalid type"),
        ("[models]\nlocal = { ollama = '\\', wait_ms = [] }", ":2: `local.wait_ms`: invalid type"),
    ] {
        let told = place(file, &[]);
        assert!(told.contains(&format!("entourage.toml{named}")), "{file}: {told}");
    }
}

#[test]
fn a_number_that_must_be_positive_is_refused_with_its_key() {
    let refused = [
        ("[dispatch]\nconcurrency = 0", "`dispatch.concurrency` must be greater than 0"),
        ("[dispatch]\ngive_up_after = 0", "`dispatch.give_up_after` must be greater than 0"),
        ("[documents]\nacts_at_once = 0", "`documents.acts_at_once` must be greater than 0"),
        (
            "[dispatch]\ngrace_seconds = -1",
            "entourage.toml:2: `grace_seconds`: invalid value: integer, expected",
        ),
        ("[server]\nconnections = 0", "`server.connections` must be greater than 0"),
        ("[store]\nconnections = 0", "`store.connections` must be greater than 0"),
        ("[server]\nstreams = 0", "`server.streams` must be greater than 0"),
        ("[server]\nbody_limit = 0", "`server.body_limit` must be greater than 0"),
        (
            "[server]\nheartbeat = 0",
            "entourage.toml:2: `heartbeat`: invalid value: integer, expected a nonzero",
        ),
        ("[models.providers.openai]\nconcurrency = 0", "`models.providers.openai.concurrency` must"),
        (
            "[models.providers.ollama]\nrequests_per_minute = 0",
            "`models.providers.ollama.requests_per_minute` must",
        ),
        ("[models.providers.ollama]\nheader_seconds = -1", "`models.providers.ollama.header_seconds` must"),
        ("[models.providers.ollama]\nheader_seconds = nan", "`models.providers.ollama.header_seconds` must"),
        (
            "[models.providers.ollama]\nsilence_seconds = inf",
            "`models.providers.ollama.silence_seconds` must",
        ),
        ("[models.profiles.\"a::b\"]\ncontext_window = 0", "`models.profiles.\"a::b\".context_window` must"),
        ("[tools.fetch]\nmax_bytes = 0", "`tools.fetch.max_bytes` must"),
        ("[tools.python]\ncalls = 1001", "`calls`: invalid value: integer, expected at most 1000"),
        ("[tools.fetch]\nmax_seconds = 0", "`tools.fetch.max_seconds` must"),
        (
            "[[tools.mcp]]\nname = \"x\"\ncommand = \"x\"\nconnect_seconds = 0",
            "`tools.mcp[0].connect_seconds` must",
        ),
    ];
    for (file, why) in refused {
        let told = load(file, &[]).expect_err(file).to_string();
        assert!(told.contains("entourage.toml:") && told.contains(why), "{file}: {told}");
    }
    let told = load("", &[("ENTOURAGE_SERVER__STREAMS", "0")]).expect_err("wrong").to_string();
    assert!(told.starts_with("the variable ENTOURAGE_SERVER__STREAMS: `server.streams` must"), "{told}");
}

#[test]
fn an_unknown_variable_is_reported_and_ignored() {
    let set = [
        ("ENTOURAGE_SERVRE__BIND", "127.0.0.1:1"),
        ("ENTOURAGE_PORT", "tcp://10.0.0.1:4180"),
        ("ENTOURAGE_PORT_4180_TCP_ADDR", "10.0.0.1"),
        ("ENTOURAGE_SERVICE_HOST", "10.0.0.1"),
        ("ENTOURAGE_MODELS__PROVIDERS__OPENAI", "sk-secret"),
    ];
    let settings = load("", &set).expect("none of them counts");
    assert_eq!(settings.server.bind.port(), 4180);
    assert_eq!(settings.ignored.len(), set.len());
    let told = settings.ignored.join("\n");
    assert!(
        told.contains(
            "ENTOURAGE_SERVRE__BIND names no setting and has no effect: did you mean ENTOURAGE_SERVER__BIND?"
        ),
        "{told}"
    );
    assert!(told.contains("ENTOURAGE_PORT_4180_TCP_ADDR names no setting"), "{told}");
    assert!(!told.contains("sk-secret") && !told.contains("10.0.0.1"), "{told}");
}

#[test]
fn an_invalid_value_in_a_variable_is_refused_with_the_variables_name() {
    let wrong = |variables: &[(&str, &str)]| load("", variables).expect_err("wrong").to_string();
    let jwt = ("ENTOURAGE_SERVER__AUTH__JWT__ALGORITHM", "HS256");
    let key = ("ENTOURAGE_SERVER__AUTH__JWT__KEY", "a secret of more than thirty-two bytes");
    let many = wrong(&[("ENTOURAGE_DISPATCH__CONCURRENCY", "many"), jwt, key]);
    assert!(many.starts_with("the variable ENTOURAGE_DISPATCH__CONCURRENCY: "), "{many}");
    let bind = wrong(&[("ENTOURAGE_SERVER__BIND", "everywhere"), jwt, key]);
    assert!(bind.starts_with("the variable ENTOURAGE_SERVER__BIND: "), "{bind}");
    let by = wrong(&[("ENTOURAGE_DISPATCH__BY", "restat")]);
    assert!(by.contains("expected `database` or `restate`") && !by.contains("restat`"), "{by}");
    let word = wrong(&[("ENTOURAGE_SERVER__AUTH", "jwt")]);
    assert!(word.contains("how tokens are signed is missing"), "{word}");
    let alone = wrong(&[jwt]);
    assert!(alone.contains("ENTOURAGE_SERVER__AUTH__JWT__ALGORITHM: missing "), "{alone}");
}

#[test]
fn a_settings_error_never_repeats_the_value() {
    const SECRET: &str = "sk-canary-4711";
    let files = [
        "[models.providers]\nopenai = \"sk-canary-4711\"\n",
        "[models]\nproviders = \"sk-canary-4711\"\n",
        "[store]\ndurability = \"sk-canary-4711\"\n",
        "[server]\nbind = \"sk-canary-4711\"\n",
        "[server]\nauth = \"sk-canary-4711\"\n",
        "[server.auth.jwt]\nalgorithm = \"sk-canary-4711\"\nkey = \"x\"\n",
        "[retention]\nevents = \"sk-canary-4711\"\n",
        "[tools.fetch]\nallow = [\"sk-canary-4711:x\"]\n",
        "[webhooks.crm]\nurl = \"x\"\nsecret = \"x\"\nevents = [\"sk-canary-4711\"]\n",
        "[[tools.mcp]]\nname = \"x\"\nenv = \"sk-canary-4711\"\n",
        "models = \"sk-canary-4711\"\n",
        "x = sk-canary-4711\n",
    ];
    for file in files {
        let told = load(file, &[]).expect_err("wrong").to_string();
        assert!(!told.contains(SECRET) && told.contains("entourage.toml:"), "{file}: {told}");
    }
    let variables =
        ["STORE__DURABILITY", "SERVER__BIND", "SERVER__AUTH", "RETENTION__TREES", "STORE__MIGRATE"];
    for name in variables {
        let name = format!("ENTOURAGE_{name}");
        let told = load("", &[(&name, SECRET)]).expect_err("wrong").to_string();
        assert!(!told.contains(SECRET) && told.contains(&name), "{told}");
    }
}

#[test]
fn variables_set_the_fields_of_a_setting_that_is_a_text_or_a_table() {
    let set = [
        ("ENTOURAGE_TOOLS__FILES__PATH", "/srv"),
        ("ENTOURAGE_TOOLS__FILES__HIDDEN", "true"),
        ("ENTOURAGE_TOOLS__FILES__OWNERS", "ann, bob"),
    ];
    let files = load("", &set).expect("valid").tools.files.expect("set");
    assert_eq!((files.path.as_path(), files.hidden), (Path::new("/srv"), true));
    assert_eq!(files.owners, Some(vec!["ann".to_owned(), "bob".to_owned()].into()));
    let alone = load("", &[("ENTOURAGE_TOOLS__FILES", "/srv")]).expect("valid").tools.files;
    assert_eq!(alone, Some(entourage_tools::FilesSettings::new("/srv")));
    let wrong = load("", &[set[0], ("ENTOURAGE_TOOLS__FILES__HIDDEN", "maybe")]).expect_err("wrong");
    assert!(wrong.to_string().starts_with("the variable ENTOURAGE_TOOLS__FILES__HIDDEN: "), "{wrong}");
}

#[test]
fn a_variable_gives_a_list_separated_by_commas() {
    let set = [("ENTOURAGE_MODELS__FALLBACK", "openai::a, anthropic::b")];
    assert_eq!(load("", &set).expect("valid").models.fallback, ["openai::a", "anthropic::b"]);
}
