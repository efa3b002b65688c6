//! Tests that the help of every command shows how it is used.

use super::data_dir::DataDir;

/// The commands that `--help` lists.
pub(crate) fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next()).collect()
}

/// Help wraps between words where the terminal is narrow.
#[test]
fn help_wraps_between_words_to_the_terminal_width() {
    let place = DataDir::new();
    let words = |help: &str| help.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for arguments in [&["--help"][..], &["tail", "--help"], &["doctor", "--help"]] {
        let at = |columns: &str| {
            let mut command = place.command(arguments);
            super::data_dir::Ended::of(command.env("COLUMNS", columns)).good().stdout
        };
        let (narrow, wide) = (at("60"), at("200"));
        assert_eq!(words(&narrow), words(&wide));
        let long = narrow.lines().filter(|line| line.chars().count() > 60);
        // Clap does not wrap the line of usage.
        let long: Vec<&str> = long.filter(|line| !line.starts_with("Usage:")).collect();
        assert!(long.is_empty(), "{long:?}");
    }
}

/// Only the terminal wraps a paragraph: where there is room, it is one line.
#[test]
fn a_paragraph_of_the_help_is_one_line_where_there_is_room() {
    let place = DataDir::new();
    let main = place.entourage(&["--help"]).good().stdout;
    for command in std::iter::once("--help").chain(commands(&main)).filter(|name| *name != "help") {
        let arguments = [command, "--help"];
        let arguments = if command == "--help" { &arguments[..1] } else { &arguments };
        let mut command = place.command(arguments);
        let help = super::data_dir::Ended::of(command.env("COLUMNS", "2000")).good().stdout;
        let lines: Vec<&str> = help.lines().collect();
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        let begins = |line: &str| line.starts_with("Exit codes: ") || line.starts_with("Settings: ");
        for pair in lines.windows(2) {
            assert!(!is_prose(pair[0]) || !is_prose(pair[1]) || begins(pair[1]), "{arguments:?}: {pair:?}");
        }
    }
}

#[test]
fn the_help_of_every_command_shows_an_example() {
    let place = DataDir::new();
    let help = place.entourage(&["--help"]).good().stdout;
    let commands = commands(&help);
    assert_eq!(
        commands,
        [
            "run",
            "explore",
            "chat",
            "serve",
            "open",
            "tree",
            "tail",
            "show",
            "export",
            "answer",
            "grants",
            "revoke",
            "pause",
            "resume",
            "comment",
            "steer",
            "modify",
            "stop",
            "retry",
            "delete",
            "forget",
            "session",
            "context",
            "why",
            "request",
            "agents",
            "runs",
            "search",
            "projects",
            "documents",
            "act",
            "goals",
            "schedules",
            "usage",
            "budget",
            "models",
            "kinds",
            "mcp",
            "secrets",
            "agency",
            "token",
            "doctor",
            "init",
            "jobs",
            "health",
            "webhooks",
            "backup",
            "prune",
            "migrate",
            "move",
            "completions",
            "openapi",
            "settings",
            "help"
        ]
    );
    for command in commands.into_iter().filter(|command| *command != "help") {
        let help = place.entourage(&[command, "--help"]).good().stdout;
        let example = format!("entourage {command}");
        let examples = help.split_once("Example").map(|(_, examples)| examples);
        let shown =
            examples.is_some_and(|examples| examples.contains(&example) || examples.contains("-- openapi"));
        assert!(shown, "{help}");
    }
    assert!(help.contains("Exit codes: 0 done, 1 failed, 2 wrong usage"), "{help}");
}

#[test]
fn the_help_command_prints_the_same_as_the_help_flag() {
    let place = DataDir::new();
    let flag = |arguments: &[&str]| place.entourage(arguments).good().stdout;
    assert_eq!(flag(&["help"]), flag(&["--help"]));
    assert_eq!(flag(&["help", "run"]), flag(&["run", "--help"]));
    assert_eq!(flag(&["help", "kinds", "show"]), flag(&["kinds", "show", "--help"]));
}

#[test]
fn the_usage_in_an_error_lists_only_required_arguments() {
    let ended = DataDir::new().entourage(&["run"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    let usage = ended.stderr.lines().find(|line| line.starts_with("Usage:"));
    assert_eq!(usage, Some("Usage: entourage run <TASK>"), "{ended:?}");
}

#[test]
fn completions_and_openapi_print_without_a_data_directory() {
    let place = DataDir::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(place.entourage(&["completions", shell]).good().stdout.contains("resume"), "{shell}");
    }
    let description = place.entourage(&["openapi"]).good().stdout;
    let description: serde_json::Value = serde_json::from_str(&description).expect("JSON");
    assert!(description["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
    assert!(description["paths"]["/v1/agents"].is_object());
    assert!(!place.data().exists(), "neither needs any data");
}
