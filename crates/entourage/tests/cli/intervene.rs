//! Tests of interventions from the command line.

use crate::data_dir::{DataDir, id};

#[test]
fn comment_and_delete_work_and_an_invalid_intervention_is_refused() {
    let place = DataDir::new();
    place.entourage(&["run", "Say hello."]).good();
    let listed = place.entourage(&["agents", "--json"]).good().stdout;
    let agent: serde_json::Value =
        serde_json::from_str(listed.lines().next().expect("an agent")).expect("JSON");
    let id = agent["id"].as_str().expect("an id");
    let done = place.entourage(&["comment", id, "well done", "--json"]).good().stdout;
    let done: serde_json::Value = serde_json::from_str(&done).expect("JSON");
    assert_eq!((&done["action"], &done["text"]), (&"comment".into(), &"well done".into()));
    let refused = place.entourage(&["resume", id]);
    assert!(refused.error(2).contains("it is not paused"), "{refused:?}");
    place.entourage(&["delete", id]).good();
    let gone = place.entourage(&["steer", id, "still there?"]);
    assert!(gone.error(2).contains("was deleted"), "{gone:?}");
    let resumed = place.entourage(&["run", "--resume", "@last"]);
    let why = "was deleted and does nothing any more. Start a new one with `entourage run`";
    assert!(resumed.error(2).contains(why) && resumed.stdout.is_empty(), "{resumed:?}");
}

#[test]
fn closing_a_session_of_an_idle_agent_takes_effect_when_it_resumes() {
    let place = DataDir::new();
    place.entourage(&["run", "Say hello."]).good();
    let listed = place.entourage(&["agents", "--json"]).good().stdout;
    let agent: serde_json::Value =
        serde_json::from_str(listed.lines().next().expect("an agent")).expect("JSON");
    let id = agent["id"].as_str().expect("an id");
    assert_eq!(place.entourage(&["session", "list", id]).good().stdout, "");
    let context = place.entourage(&["context", id]).good().stdout;
    for block in ["tools", "instructions", "conversation 0", "time", "of "] {
        assert!(
            context.lines().any(|line| line.starts_with(block) && line.contains(" tokens ")),
            "{context}"
        );
    }
    let closed = place.entourage(&["session", "close", id]).good();
    assert!(
        closed.stderr.contains("close_session: stored; the agent reads it when it continues"),
        "{closed:?}"
    );
    place.entourage(&["run", "--resume", id, "Say it again."]).good();
    let sessions = place.entourage(&["session", "list", id]).good().stdout;
    assert!(sessions.starts_with("1 ") && sessions.contains("(asked)"), "closed by the work: {sessions}");
    let missing = place.entourage(&["session", "list", "agt_0123456789abcdef0123456789abcdef"]);
    assert!(missing.error(2).contains("there is no agent"), "{missing:?}");
}

/// Interventions besides the waiting work do not end the command before the work.
#[test]
fn run_resume_does_the_waiting_work_despite_a_pause_and_a_resume() {
    let place = DataDir::new();
    place.entourage(&["run", "-q", "Say hello."]).good();
    for arguments in [&["steer", "@last", "Say it again."][..], &["pause", "@last"], &["resume", "@last"]] {
        place.entourage(arguments).good();
    }
    let apart = place.entourage(&["run", "--resume", "-q", "@last"]);
    assert!(apart.error(2).contains("write `--resume @last`"), "{apart:?}");
    let resumed = place.entourage(&["run", "-q", "--resume"]).good();
    assert!(resumed.stdout.contains("Say it again."), "{resumed:?}");
}

#[test]
fn run_resume_reports_at_once_that_the_agent_is_paused() {
    let place = DataDir::new();
    place.entourage(&["run", "-q", "Say hello."]).good();
    let listed = place.entourage(&["agents", "--json"]).good().json();
    let id = listed[0]["id"].as_str().expect("an id");
    let hint = format!("resume it with: entourage resume {id}");
    let paused = place.entourage(&["pause", "@last"]).good();
    assert!(paused.stderr.contains(&hint) && !paused.stderr.contains("run --resume"), "{paused:?}");
    // The agent applies the pause in the first of these, and is paused in the second.
    for _ in 0..2 {
        let waits = place.entourage(&["run", "-q", "--resume"]);
        assert_eq!(waits.code, 3, "{waits:?}");
        assert!(waits.stderr.contains(&format!("{id} is paused; {hint}")), "{waits:?}");
    }
    let tree = place.entourage(&["tree"]).good();
    assert!(tree.stderr.contains(&hint), "{tree:?}");
    place.entourage(&["resume", "@last"]).good();
    place.entourage(&["run", "-q", "--resume", id]).good();
}

/// An intervention in an agent that waits for an answer is applied before the question is shown, which is
/// then no longer open.
#[test]
fn run_resume_of_a_stopped_or_modified_agent_shows_no_old_question() {
    let kind =
        "---\nname: researcher\ntools: [create_note]\napproval:\n  - tools: create_note\n---\nNote it.\n";
    for begin in [&["run", "Look"][..], &["run", "--kind", "researcher", "Look"]] {
        let place = DataDir::new();
        place.write("data/kinds/researcher.md", kind);
        assert_eq!(place.entourage(begin).code, 3);
        place.entourage(&["stop", "@last"]).good();
        let resumed = place.entourage(&["run", "--resume"]);
        assert_eq!(resumed.code, 130, "{resumed:?}");
        assert!(
            resumed.stderr.contains("stopped; continue with") && !resumed.stderr.contains("answer with"),
            "{resumed:?}"
        );
        let tree = place.entourage(&["tree"]).good();
        assert!(!tree.stdout.contains("waiting"), "{tree:?}");
    }
    let place = DataDir::new();
    place.write("data/kinds/researcher.md", kind);
    let before = place.entourage(&["run", "--kind", "researcher", "Look"]);
    place.entourage(&["modify", "@last", "Look elsewhere"]).good();
    let asked = place.entourage(&["run", "--resume"]);
    let old = id(&before.stderr, "qst_");
    assert!(!asked.stderr.contains(&format!("entourage answer {old}")), "{asked:?}");
    assert!(asked.stderr.contains("Look elsewhere"), "{asked:?}");
}

/// Stored while nothing works here: the agent has read none of it.
#[test]
fn why_names_what_an_agent_has_yet_to_read_and_what_to_start() {
    let place = DataDir::new();
    assert_eq!(place.entourage(&["run", "-q", "Please ask me first"]).code, 3);
    let why = place.entourage(&["why"]).good();
    assert!(!why.stderr.contains("not read yet"), "{why:?}");
    place.entourage(&["steer", "@last", "Be quick."]).good();
    let why = place.entourage(&["why"]).good();
    assert!(
        why.stdout.contains("asks: ") && why.stderr.contains("not read yet: message. No process"),
        "{why:?}"
    );
    place.entourage(&["stop", "@last"]).good();
    let why = place.entourage(&["why"]).good();
    assert!(why.stdout.contains("could go on, but no process works here"), "{why:?}");
    let start =
        format!("start one with: entourage run --resume {}, or for all agents: ", id(&why.stdout, "agt_"));
    assert!(
        why.stderr.contains(&format!("not read yet: message, stop. No process works on it; {start}")),
        "{why:?}"
    );
    let json = place.entourage(&["why", "--json"]).good().json();
    assert_eq!(json[0]["unread"], serde_json::json!(["message", "stop"]));
    place.entourage(&["run", "-q", "--resume"]).good();
    let json = place.entourage(&["why", "--json"]).good().json();
    assert_eq!(json[0]["unread"], serde_json::json!([]), "{json:?}");
}
