//! Tests of the log: what a variable of the environment turns on.

use serde_json::Value;

use super::data_dir::{DataDir, Ended};

/// Runs the rehearsal under this filter; returns the messages of its log with their levels.
fn logged(filter: Option<(&str, &str)>) -> Vec<(String, String)> {
    let place = DataDir::new();
    let mut command = place.command(&["run", "Take a note", "--log-format", "json"]);
    command.envs(filter);
    let ended = Ended::of(&mut command).good();
    let lines = ended.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let text = |line: &Value, of: &str| line[of].as_str().unwrap_or_default().to_owned();
    lines.map(|line| (text(&line, "level"), text(&line, "message"))).collect()
}

/// At the level `debug` the log tells what agents do, step by step.
///
/// Shows: S4-R151.
#[test]
fn log_level_debug_turns_debug_logging_on() {
    let has_debug = |lines: &[(String, String)]| lines.iter().any(|(level, _)| level == "DEBUG");
    let told = logged(Some(("LOG_LEVEL", "debug")));
    for message in ["the model answered", "a call of a tool ended"] {
        assert!(told.contains(&("DEBUG".into(), message.into())), "{message}: {told:?}");
    }
    for other in [None, Some(("LOG_LEVEL", "info")), Some(("LOG_LEVEL", " "))] {
        let told = logged(other);
        assert!(!has_debug(&told), "{other:?}: {told:?}");
    }
    assert!(has_debug(&logged(Some(("ENTOURAGE_LOG", "debug")))), "it has another name");
    let place = DataDir::new();
    let wrong = Ended::of(place.command(&["run", "Hello"]).env("LOG_LEVEL", "loud=very"));
    assert!(wrong.error(2).contains("LOG_LEVEL=`loud=very` is no filter"), "{wrong:?}");
}
