//! Tests of `act`: messages about the documents of a project, from the command line.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Ended, Patience, id},
    model::Model,
    server::Server,
};

/// A place with a project `Trip` and its document `Plan`, and a model that acts on it.
fn trip() -> (DataDir, Model) {
    let place = DataDir::new();
    place.write("notes/Plan.md", "# Plan\n\nBy car.\n");
    place.entourage(&["documents", "import", "notes", "--project", "Trip", "--create", "--quiet"]).good();
    (place, Model::acting())
}

fn act(place: &DataDir, model: &Model, arguments: &[&str]) -> Ended {
    Ended::of(model.asked_by(&mut place.command(&[&["act"], arguments].concat())))
}

#[test]
fn a_message_changes_creates_and_answers_without_a_server() {
    let (place, model) = trip();
    let created = act(&place, &model, &["Trip", "Create a packing list"]).good();
    assert_eq!(created.stdout, "I've created the packing list.\n");
    assert!(
        created.stderr.contains("created Packing list, version 1; entourage documents show 2"),
        "{created:?}"
    );
    assert!(created.stderr.contains("go on with: entourage act Trip --resume \"…\""), "{created:?}");
    assert_eq!(place.entourage(&["documents", "show", "Packing list"]).good().stdout, "- socks\n");

    let changed = act(&place, &model, &["trip", "Change it", "--document", "Plan"]).good();
    assert!(changed.stderr.contains("changed Plan, version 2; entourage documents diff 1"), "{changed:?}");
    assert_eq!(place.entourage(&["documents", "show", "Plan"]).good().stdout, "# Plan\n\nBy train.\n");
    let versions = place.entourage(&["documents", "versions", "Plan"]).good().stdout;
    let agent = id(&changed.stderr, "agt_");
    assert!(
        versions.lines().next().is_some_and(|line| line.contains(&format!("agent {agent}"))),
        "{versions}"
    );

    let quiet = act(&place, &model, &["1", "What is there?", "--quiet"]).good();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("There is a plan.\n", ""));
    let chats = place.entourage(&["projects", "chats", "Trip"]).good().stdout;
    assert_eq!(chats.lines().count(), 3, "{chats}");
    assert!(chats.lines().next().is_some_and(|line| line.starts_with("3  agt_")), "{chats}");
}

#[test]
fn a_question_of_the_agent_is_answered_in_the_same_chat() {
    let (place, model) = trip();
    let asks = act(&place, &model, &["Trip", "Delete the plan"]);
    assert_eq!(asks.code, 3, "{asks:?}");
    assert_eq!(asks.stdout, "All of it goes. Should I proceed?\n");
    assert!(asks.stderr.contains("go on with: entourage act Trip --resume \"yes\""), "{asks:?}");
    let done = act(&place, &model, &["Trip", "--resume", "yes"]).good();
    assert!(done.stderr.contains("changed Plan, version 2"), "{done:?}");
    assert_eq!(id(&done.stderr, "agt_"), id(&asks.stderr, "agt_"), "the same chat");

    let unclear = act(&place, &model, &["Trip", "Hm", "--chat", "1"]);
    assert_eq!((unclear.code, unclear.stdout.as_str()), (3, "Which document?\n"), "{unclear:?}");
    let other = act(&place, &model, &["Trip", "Tell me"]).good();
    assert_ne!(id(&other.stderr, "agt_"), id(&asks.stderr, "agt_"), "another chat");
    let agent = id(&asks.stderr, "agt_");
    let named = act(&place, &model, &["Trip", "Tell me", "--chat", agent]).good();
    assert_eq!(id(&named.stderr, "agt_"), agent);
    let chats = place.entourage(&["projects", "chats", "Trip", "--json"]).good().json();
    assert_eq!(chats.len(), 2, "{chats:?}");
}

#[test]
fn with_json_the_result_is_one_line() {
    let (place, model) = trip();
    let ended = act(&place, &model, &["Trip", "Change it", "--json"]).good();
    assert_eq!(ended.stderr, "");
    let [line] = &ended.json()[..] else { panic!("one line: {ended:?}") };
    let keys: Vec<&String> = line.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["chat", "run", "answer", "outcome", "decision", "web_search_performed", "document"]);
    assert_eq!((&line["outcome"], &line["document"]["version"]), (&json!("updated"), &json!(2)));
    let chat = line["chat"].as_str().expect("an id");
    let asks = act(&place, &model, &["Trip", "Hm", "--chat", chat, "--json"]);
    assert_eq!((asks.code, &asks.json()[0]["chat"]), (3, &Value::from(chat)), "{asks:?}");
}

#[test]
fn with_a_server_the_server_acts() {
    let (place, model) = trip();
    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    model.ask(&mut command);
    let _server = Server::of(command);
    let created = place.entourage(&["act", "Trip", "Create a packing list"]).good();
    assert_eq!(created.stdout, "I've created the packing list.\n");
    let asks = place.entourage(&["act", "Trip", "--resume", "Delete it"]);
    assert_eq!(asks.code, 3, "{asks:?}");
    let done = place.entourage(&["act", "Trip", "--resume", "yes", "--json"]).good().json();
    assert_eq!(done[0]["document"]["version"], 2);
    assert_eq!(done[0]["chat"], id(&created.stderr, "agt_"));
}

#[test]
fn a_message_that_cannot_be_sent_is_refused_with_the_next_step() {
    let (place, model) = trip();
    place.entourage(&["projects", "create", "Empty"]).good();
    for (arguments, words) in [
        (&["Nowhere", "Hello"][..], "--create creates it here"),
        (&["Trip", " "], "the message is empty"),
        (&["Nowhere", " ", "--create"], "the message is empty"),
        (&["Trip", "Hello", "--document", "Nothing"], "there is no document `Nothing` in project `Trip`"),
        (&["Trip", "Hello", "--chat", "7"], "`entourage projects chats Trip` lists them"),
        (&["Empty", "Hello", "--resume"], "`entourage act Empty \"…\"` begins one"),
        (&["Trip", "Hello", "--resume", "--chat", "1"], "cannot be used with"),
        (&["Trip"], "<MESSAGE>"),
    ] {
        let ended = act(&place, &model, arguments);
        ended.error(2);
        assert!(ended.stderr.contains(words), "{arguments:?}: {ended:?}");
    }
    assert_eq!(place.entourage(&["projects", "--json"]).good().json().len(), 2, "none was created");
    assert_eq!(place.entourage(&["agents", "--json"]).good().stdout, "", "no chat began");
    let created = act(&place, &model, &["Nowhere", "Hello", "--create"]).good();
    assert_eq!(created.stdout, "There is a plan.\n");
    assert_eq!(place.entourage(&["projects", "--json"]).good().json().len(), 3);
}

fn spawned(place: &DataDir, model: &Model, arguments: &[&str]) -> Child {
    let mut command = place.process(arguments);
    model.ask(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// The message stays on record, and is answered once a process works on it again, or by the server.
#[test]
fn an_interrupted_message_is_answered_all_the_same() {
    let ((place, model), silent) = (trip(), Model::new());
    let child = spawned(&place, &silent, &["act", "Trip", "Change it"]);
    let _patience = Patience::with(&child);
    let _held = silent.next();
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    let left = child.wait_with_output().expect("it ends");
    let told = String::from_utf8(left.stderr).expect("UTF-8");
    assert_eq!(left.status.code(), Some(130), "{told}");
    let chat = id(&told, "agt_").to_owned();
    assert!(told.contains(&format!("continue with: entourage run --resume {chat}")), "{told}");
    let resumed = Ended::of(model.asked_by(&mut place.command(&["run", "--resume", &chat]))).good();
    assert_eq!(resumed.stdout.trim(), "I'll change the plan.\n\n**Content Summary:**\nThe train.");
    assert_eq!(place.entourage(&["documents", "show", "Plan"]).good().stdout, "# Plan\n\nBy train.\n");

    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    silent.ask(&mut command);
    let _server = Server::of(command);
    let child = spawned(&place, &silent, &["act", "Trip", "--resume", "Tell me"]);
    let _patience = Patience::with(&child);
    let asked = silent.next();
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    let left = child.wait_with_output().expect("it ends");
    let told = String::from_utf8(left.stderr).expect("UTF-8");
    assert_eq!(left.status.code(), Some(130), "{told}");
    let read = format!("read the answer with: entourage show {chat}");
    assert!(told.contains(&read), "{told}");
    asked.text(&json!({ "conversational_response": "Told." }).to_string()).end();
    let followed = place.entourage(&["run", "--resume", &chat]).good();
    assert!(followed.stdout.contains("Told."), "{followed:?}");
    assert!(place.entourage(&["show", &chat]).good().stdout.contains("Told."));
}

#[test]
fn a_model_that_fails_is_a_failure_and_nothing_is_changed() {
    let (place, model) = (trip().0, Model::saying("This is no decision."));
    let failed = act(&place, &model, &["Trip", "Change it"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stdout.starts_with("I'm sorry, I couldn't process your request"), "{failed:?}");
    assert_eq!(place.entourage(&["documents", "show", "Plan"]).good().stdout, "# Plan\n\nBy car.\n");
}
