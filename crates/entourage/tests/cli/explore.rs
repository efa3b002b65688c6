//! Tests of explorations from the command line.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{
    data_dir::{DataDir, Ended, id},
    model::Model,
    server::Server,
    terminal::Terminal,
};

/// What an exploration with this model prints, for programs.
fn chunks(place: &DataDir, model: &Model, arguments: &[&str]) -> (i32, Vec<Value>) {
    let arguments = [&["explore", "--json"], arguments].concat();
    let ended = Ended::of(model.asked_by(&mut place.command(&arguments)));
    (ended.code, ended.json())
}

fn types(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().filter_map(|chunk| chunk["type"].as_str()).collect()
}

#[test]
fn an_exploration_is_answered_shown_and_read_like_any_task() {
    let place = DataDir::new();
    place.write("papers/README.md", "The keyword is marzipan.");
    let ended = place.entourage(&["explore", "What is the keyword?", "--files", "papers"]).good();
    assert!(ended.stdout.contains("rehearsal model, not a language model"), "{ended:?}");
    assert!(ended.stderr.contains("explorer calls list_files"), "each step is shown: {ended:?}");
    let agent = id(&ended.stderr, "agt_");
    let tree = place.entourage(&["tree", agent]).good().stdout;
    assert!(tree.contains("✓ explorer succeeded"), "{tree}");
    assert!(place.entourage(&["show", agent]).good().stdout.contains("What is the keyword?"));
}

/// Shows: S3-R075, S3-R077.
#[test]
fn json_is_the_chunks_of_the_stream_one_a_line() {
    let (place, model) = (DataDir::new(), Model::exploring());
    let (code, all) = chunks(&place, &model, &["a clear wish", "--id", "wish"]);
    assert_eq!(code, 0, "{all:?}");
    assert!(all.iter().all(|chunk| chunk["agentId"] == "wish"), "{all:?}");
    assert_eq!((&all[0]["type"], &all[0]["state"]), (&"agent-state".into(), &"running".into()));
    let types = types(&all);
    assert_eq!(types.iter().filter(|kind| **kind == "result").count(), 1, "{types:?}");
    assert_eq!(types[types.len() - 2..], ["result", "finish"]);
    assert_eq!(all[all.len() - 2]["result"], "The result: a clear wish");
}

#[test]
fn an_exploration_that_asks_is_known_by_its_id_and_goes_on_with_the_answer() {
    let (place, model) = (DataDir::new(), Model::exploring());
    let (code, all) = chunks(&place, &model, &["a vague wish", "--id", "wish"]);
    assert_eq!(code, 3, "{all:?}");
    let asked = all.iter().find(|chunk| chunk["type"] == "user-query").expect("it asks");
    assert_eq!((&asked["agentId"], &asked["prompt"]), (&"wish".into(), &"Which one?".into()));

    let again = Ended::of(model.asked_by(&mut place.command(&["explore", "another", "--id", "wish"])));
    assert!(again.error(2).contains("wish"), "the id is taken: {again:?}");
    assert!(place.entourage(&["why", "wish"]).good().stdout.contains("Which one?"));
    place.entourage(&["comment", "wish", "checked"]).good();
    assert!(place.entourage(&["tree", "wish"]).good().stdout.contains("explorer"));
    let nobody = place.entourage(&["why", "nobody"]);
    assert!(nobody.error(2).contains("no agent has the id `nobody`"), "{nobody:?}");

    let waits = Ended::of(model.asked_by(&mut place.command(&["explore", "--resume", "wish"])));
    assert_eq!(waits.code, 3, "{waits:?}");
    assert!(waits.stderr.contains("entourage explore --resume agt_"), "{waits:?}");
    place.entourage(&["answer", "@last", "the red one"]).good();
    let ended = Ended::of(model.asked_by(&mut place.command(&["explore", "--resume", "wish"]))).good();
    assert_eq!(ended.stdout.trim(), "The result: a vague wish; the red one");
}

#[test]
fn a_user_at_a_terminal_answers_in_place_and_an_interrupted_exploration_is_suspended() {
    let (place, model) = (DataDir::new(), Model::exploring());
    let mut command = place.process(&["explore", "a vague wish"]);
    model.ask(&mut command);
    let mut terminal = Terminal::of(command);
    // The tree shows the call before the question is open; what is typed by then answers nothing.
    terminal.shows("asks: Which one?");
    terminal.types("the red one");
    let (code, said) = terminal.ended();
    assert_eq!((code, said.trim()), (Some(0), "The result: a vague wish; the red one"));

    let silent = Model::new();
    let mut command = place.process(&["explore", "a clear wish", "--id", "clear"]);
    silent.ask(&mut command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("it starts");
    let _held = silent.next();
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    let left = child.wait_with_output().expect("it ends");
    let told = String::from_utf8(left.stderr).expect("UTF-8");
    assert_eq!(left.status.code(), Some(130), "{told}");
    assert!(told.contains("suspended; continue with: entourage explore --resume agt_"), "{told}");
    let ended = Ended::of(model.asked_by(&mut place.command(&["explore", "--resume", "clear"]))).good();
    assert_eq!(ended.stdout.trim(), "The result: a clear wish");
}

#[test]
fn with_a_server_an_exploration_may_be_put_below_one_that_is_active() {
    let (place, model) = (DataDir::new(), Model::exploring());
    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    model.ask(&mut command);
    let server = Server::of(command);
    let asks = place.entourage(&["explore", "a vague wish", "--id", "upper"]);
    assert_eq!(asks.code, 3, "{asks:?}");
    let ended = place.entourage(&["explore", "a clear wish", "--id", "lower", "--parent", "upper"]).good();
    assert_eq!(ended.stdout.trim(), "The result: a clear wish", "whatever the one above it asks");
    let all = place.entourage(&["explore", "one more", "--parent", "upper", "--json"]).good().json();
    assert_eq!(all[all.len() - 2]["result"], "The result: one more");
    let refused = place.entourage(&["explore", "x", "--parent", "lower"]);
    assert!(refused.error(2).contains("only an active agent can be a parent"), "it has ended: {refused:?}");
    assert_eq!(server.body("/agent/tree")["upper"]["status"], "awaiting_user");
}

/// Each command finds it by the id that it was given.
#[test]
fn a_named_exploration_is_paused_steered_modified_and_deleted_by_its_name() {
    let (place, model) = (DataDir::new(), Model::exploring());
    let (code, all) = chunks(&place, &model, &["a vague wish", "--id", "log_files"]);
    assert_eq!(code, 3, "{all:?}");
    let resumed = || Ended::of(model.asked_by(&mut place.command(&["explore", "--resume", "log_files"])));
    let unread = || place.entourage(&["why", "log_files", "--json"]).good().json()[0]["unread"].clone();

    place.entourage(&["pause", "log_files"]).good();
    assert_eq!(resumed().code, 3, "it applies the pause");
    let why = place.entourage(&["why", "log_files"]).good().stdout;
    assert!(why.contains("explorer paused"), "{why}");
    place.entourage(&["resume", "log_files"]).good();
    place.entourage(&["steer", "log_files", "the blue one"]).good();
    assert_eq!(unread(), serde_json::json!(["resume", "message"]));
    place.entourage(&["modify", "log_files", "the green one"]).good();
    let modified = resumed();
    assert_eq!(modified.code, 3, "{modified:?}");
    assert_eq!(unread(), serde_json::json!([]));
    let shown = place.entourage(&["show", "log_files"]).good().stdout;
    assert!(shown.contains("the blue one") && shown.contains("the green one"), "{shown}");
    place.entourage(&["delete", "log_files"]).good();
    let deleted = place.entourage(&["steer", "log_files", "still there?"]);
    assert!(deleted.error(2).contains("was deleted"), "{deleted:?}");
}

/// A name leads to its agent until another agent takes it, and means more than a part of an id.
#[test]
fn an_exploration_that_has_ended_is_found_by_its_name() {
    let (place, model) = (DataDir::new(), Model::exploring());
    for name in ["wish", "BEEF"] {
        let (code, all) = chunks(&place, &model, &[&format!("a clear {name}"), "--id", name]);
        assert_eq!(code, 0, "{all:?}");
    }
    for name in ["wish", "BEEF"] {
        for command in ["show", "why", "tree"] {
            place.entourage(&[command, name]).good();
        }
        let shown = place.entourage(&["show", name]).good().stdout;
        assert!(shown.contains(&format!("The result: a clear {name}")), "{shown}");
    }
    let (code, all) = chunks(&place, &model, &["a clear day", "--id", "wish"]);
    assert_eq!(code, 0, "{all:?}");
    assert!(place.entourage(&["show", "wish"]).good().stdout.contains("The result: a clear day"));
    for (name, why) in [("tree", "no agent has the id `tree`"), ("wish.", "no agent has the id `wish.`")] {
        let unknown = place.entourage(&["show", name]);
        assert!(unknown.error(2).contains(why), "{unknown:?}");
    }
}

/// What the commands could not find is refused before anything starts.
#[test]
fn an_exploration_takes_no_name_that_means_something_else() {
    let place = DataDir::new();
    for (name, why) in [
        ("@last", "begins with `@` stands for an agent"),
        ("@mine", "begins with `@` stands for an agent"),
        ("agt_0199", "looks like an id"),
        ("two words", "has a blank"),
    ] {
        let refused = place.entourage(&["explore", "a clear wish", "--id", name]);
        assert!(refused.error(2).contains(why), "{refused:?}");
    }
    assert_eq!(place.entourage(&["agents", "--json"]).good().stdout, "");
}

#[test]
fn an_exploration_needs_a_question() {
    let place = DataDir::new();
    assert_eq!(place.entourage(&["explore"]).code, 2);
    let blank = place.entourage(&["explore", " "]);
    assert!(blank.error(2).contains("blank"), "{blank:?}");
}
