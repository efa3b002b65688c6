//! Tests that the doctor finds what is missing and says how to repair it, and shows no secrets.

use serde_json::json;

use super::{
    data_dir::{DataDir, Ended},
    server::Server,
};

#[test]
fn doctor_passes_on_a_fresh_machine_and_names_missing_keys() {
    let place = DataDir::new();
    let mut command = place.command(&["doctor"]);
    let ended = Ended::of(&mut command).good();
    assert!(ended.stdout.contains("! model"), "{ended:?}");
    assert!(ended.stdout.contains("ANTHROPIC_API_KEY"), "{ended:?}");
    assert!(ended.stdout.contains("TAVILY_API_KEY"), "{ended:?}");
    assert!(!place.data().exists(), "looking changes nothing");

    let findings = place.entourage(&["doctor", "--json"]).good().json();
    let model = findings.iter().find(|finding| finding["what"] == "model").expect("a finding");
    assert_eq!(model["state"], "remark");
}

#[test]
fn doctor_marks_each_broken_part_and_exits_with_1() {
    let place = DataDir::new();
    place.write("data/kinds/cook.md", "You cook.\n");
    place.write("data/entourage.db", "Not a database at all, but long enough to be taken for one, perhaps.");
    place.write(
        "data/entourage.toml",
        "[tools]\nfiles = \"/nowhere/at/all\"\nsearch.backend = \"brave\"\n\
         [[tools.mcp]]\nname = \"gone\"\ncommand = \"/no/such/program\"\n\
         [webhooks.crm]\nurl = \"http://127.0.0.1:1/\"\nsecret = \"too short\"\n",
    );
    let ended = place.entourage(&["doctor", "--model", "openai::x"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    for broken in ["✗ kinds", "✗ database", "✗ files", "✗ search", "✗ mcp gone", "✗ model", "✗ webhooks"]
    {
        assert!(ended.stdout.contains(broken), "{broken}: {ended:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_says_what_confines_code_and_when_agents_run_none() {
    let place = DataDir::new();
    let line = || {
        let ended = place.entourage(&["doctor", "--offline"]).good();
        ended.stdout.lines().find(|line| line.contains(" python ")).expect("a finding").to_owned()
    };
    let told = line();
    // The kernel may lack Landlock.
    let in_part =
        told.starts_with("! python") && told.contains("agents run code, confined in part: landlock: no");
    let in_full = told == "✓ python      agents run code, confined by Landlock, seccomp and limits";
    assert!(in_full || in_part, "{told}");
    place.write("data/entourage.toml", "[tools.python]\nenabled = false\n");
    assert_eq!(line(), "! python      agents run no code: `enabled` is false under [tools.python]");
}

/// A server examines itself as the command does while the server runs.
#[test]
fn a_server_tells_over_http_what_the_doctor_prints() {
    let place = DataDir::new();
    let server = Server::start(&place);
    let printed = place.entourage(&["doctor", "--offline", "--json"]).good().json();
    let told = server.body("/v1/doctor?offline=true");
    assert_eq!(told["data"].as_array(), Some(&printed));
    assert!(printed.iter().any(|finding| finding["what"] == "maintenance"), "{printed:?}");
    let settings = server.body("/v1/settings");
    let settings = settings["data"].as_array().expect("a list");
    let bind = settings.iter().find(|setting| setting["key"] == "server.bind").expect("it is set");
    assert_eq!((&bind["value"], &bind["set_in"]), (&json!("\"127.0.0.1:0\""), &json!("--bind")));
}

/// The doctor finds what would keep a server, or every run of a kind, from starting.
#[test]
fn doctor_reports_the_settings_and_kinds_that_serve_and_run_refuse() {
    let place = DataDir::new();
    let doctor = |settings: &str| {
        place.write("data/entourage.toml", settings);
        place.entourage(&["doctor", "--offline"])
    };
    for (settings, broken) in [
        (
            "[server.auth.jwt]\nalgorithm = \"HS256\"\nkey = \"short\"\n",
            "✗ server      the key for HS256 cannot be used",
        ),
        (
            "[server.auth.jwt]\nalgorithm = \"HS256\"\nkey = \"0123456789abcdef0123456789abcdef\"\naudience = \"\"\n",
            "✗ server      `server.auth.jwt.audience` is empty",
        ),
        ("[telemetry]\notlp_endpoint = \"nonsense\"\n", "✗ traces      telemetry.otlp_endpoint: "),
    ] {
        let ended = doctor(settings);
        assert!(ended.code == 1 && ended.stdout.contains(broken), "{broken}: {ended:?}");
    }
    assert!(
        doctor("[telemetry]\notlp_endpoint = \"http://127.0.0.1:1\"\n").good().stdout.contains("✓ traces")
    );
    let why = "kind `clerk`: ";
    place.write("data/kinds/clerk.md", "---\nname: clerk\nmodel: nosuch::m\n---\nYou file papers.\n");
    for command in [&["doctor", "--offline"][..], &["kinds", "check"]] {
        let ended = place.entourage(command);
        let told = ended.stdout.lines().find(|line| line.contains(why)).expect("a finding");
        assert!(ended.code == 1 && told.contains("clerk.md") && told.contains("nosuch"), "{ended:?}");
    }
}

#[test]
fn doctor_reports_a_truncated_database_and_what_to_do() {
    let place = DataDir::new();
    for task in ["one", "two", "three"] {
        place.entourage(&["run", task, "--quiet"]).good();
    }
    let path = place.data().join("entourage.db");
    let whole = place.entourage(&["doctor"]).good();
    assert!(whole.stdout.contains("entourage.db is intact"), "{whole:?}");
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("there");
    let length = file.metadata().expect("readable").len();
    file.set_len(length / 2 / 4096 * 4096).expect("cut");
    let cut = place.entourage(&["doctor"]);
    assert_eq!(cut.code, 1, "{cut:?}");
    let line = cut.stdout.lines().find(|line| line.contains("database ")).expect("a finding").to_owned();
    assert!(line.starts_with("✗ database"), "{line}");
    assert!(line.contains("entourage backup") && line.contains("put a copy that"), "{line}");
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_reports_a_full_disk() {
    let place = DataDir::new();
    // A device that is always full, in place of the file that the doctor writes as a probe.
    std::fs::create_dir_all(place.data()).expect("a directory");
    let mut shell = std::process::Command::new("sh");
    let script = "ln -s /dev/full \"$ENTOURAGE_DATA/.doctor-$$\" && exec \"$0\" doctor";
    let inner = place.process(&[]);
    shell.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.args(["-c", script, env!("CARGO_BIN_EXE_entourage")]);
    let ended = Ended::of(&mut assert_cmd::Command::from_std(shell));
    assert_eq!(ended.code, 1, "{ended:?}");
    let line = ended.stdout.lines().find(|line| line.contains(" data ")).expect("a finding");
    assert!(line.starts_with("✗ data") && line.contains("is full"), "{line}");
}

#[test]
fn doctor_finds_keys_and_never_shows_them() {
    let place = DataDir::new();
    let canary = "canary-7f3a";
    place.write("data/entourage.toml", &format!("[models.providers.openai]\nkey = \"{canary}\"\n"));
    for format in
        [&["doctor", "--offline"][..], &["doctor", "--offline", "--json"], &["doctor", "--offline", "-vv"]]
    {
        let mut command = place.command(format);
        command.env_remove("ENTOURAGE_MODEL").env("ANTHROPIC_API_KEY", canary);
        let ended = Ended::of(command.env("TAVILY_API_KEY", canary)).good();
        assert!(ended.stdout.contains("ANTHROPIC_API_KEY, OPENAI_API_KEY; not OPENROUTER"), "{ended:?}");
        assert!(!ended.stdout.contains(canary) && !ended.stderr.contains(canary), "{ended:?}");
    }
}

#[cfg(unix)]
#[test]
fn doctor_remarks_on_a_database_that_other_users_can_read() {
    use std::{fs, os::unix::fs::PermissionsExt};

    let place = DataDir::new();
    place.write("data/entourage.toml", "");
    place.entourage(&["run", "hello"]).good();
    let looked = place.entourage(&["doctor"]).good();
    assert!(looked.stdout.contains("is writable"), "{looked:?}");
    let may = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    may(&place.data(), 0o755).expect("a directory that others enter");
    may(&place.data().join("entourage.db"), 0o644).expect("a file that others read");
    let looked = place.entourage(&["doctor"]).good();
    assert!(looked.stdout.contains("! data") && looked.stdout.contains("chmod 600"), "{looked:?}");
}
