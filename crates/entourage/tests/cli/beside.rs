//! Tests of commands in another terminal while `run` or `chat` works without a server.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Ended, Patience, id},
    model::Model,
    server::Server,
    terminal::Terminal,
};

/// A run that uses this model, in a process of its own.
fn run(place: &DataDir, model: &Model, task: &str) -> Child {
    let mut command = place.process(&["run", task]);
    model.ask(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// The result of a run: its exit code, stdout and stderr.
fn outcome_of(child: Child) -> (i32, String, String) {
    let _patience = Patience::with(&child);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("no signal ended it"), text(output.stdout), text(output.stderr))
}

/// Of two runs at once, the second waits for the first, which takes no longer than a short command.
#[test]
fn a_second_run_waits_for_a_first_that_ends_soon() {
    let (place, model) = (DataDir::new(), Model::new());
    let first = run(&place, &model, "Plan a trip");
    let asked = model.next();
    let second = run(&place, &model, "Plan a feast");
    asked.text("By train.").end();
    assert_eq!(outcome_of(first).0, 0);
    model.next().text("With cake.").end();
    let (code, stdout, stderr) = outcome_of(second);
    assert_eq!((code, stdout.trim_end().ends_with("With cake.")), (0, true), "{stdout} {stderr}");
}

/// The directory belongs to the command, not to the agent: a user who continues without it gets a note.
#[test]
fn resuming_an_agent_that_read_files_without_a_directory_prints_a_note() {
    let (place, model) = (DataDir::new(), Model::new());
    let go = |arguments: &[&str]| {
        let mut command = place.process(arguments);
        model.ask(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let said = |child: Child| {
        model.next().text("Done.").end();
        outcome_of(child)
            .2
            .contains("has read files before, and no directory is given now; --files DIR gives one")
    };
    let first = go(&["run", "Look.", "--kind", "researcher", "--files", "."]);
    model.next().call("list_files", &json!({})).end();
    assert!(!said(first));
    assert!(!said(go(&["run", "--resume", "@last", "Again.", "--files", "."])));
    assert!(said(go(&["run", "--resume", "@last", "Again."])));
}

/// While a run works, every other command reaches it, and its model reads what `steer` sends.
#[test]
fn a_run_is_seen_and_steered_from_another_terminal() {
    let (place, model) = (DataDir::new(), Model::new());
    let child = run(&place, &model, "Plan a trip");
    let asked = model.next();
    let tree = place.entourage(&["tree"]).good();
    assert!(tree.stdout.contains("● assistant running"), "{tree:?}");
    assert_eq!(tree.stderr, "", "somebody is at work");
    let agent = id(&tree.stdout, "agt_").to_owned();
    assert!(place.entourage(&["agents"]).good().stdout.contains(&agent));
    assert!(place.entourage(&["tail", &agent[30..]]).good().stdout.contains("reads from user: Plan a trip"));
    assert_eq!(place.entourage(&["usage", "--json"]).good().json()[0]["total"]["calls"], 0);
    assert!(place.entourage(&["doctor"]).stdout.contains("another command is at work"));
    let steered = place.entourage(&["steer", "@last", "only by train"]).good();
    assert_eq!(steered.stderr, "steer: done\n");

    asked.call("search_notes", &json!({ "query": "trips" })).end();
    let asked = model.next();
    assert!(asked.body.to_string().contains("only by train"), "{}", asked.body);
    asked.text("By train.").end();
    let (code, stdout, stderr) = outcome_of(child);
    assert_eq!((code, stdout.trim_end().ends_with("By train.")), (0, true), "{stdout} {stderr}");
    assert!(stderr.contains(&format!("{agent}; from another terminal: entourage tree")), "{stderr}");
    assert!(!place.data().join("server.json").exists(), "its sign is gone");
    assert!(place.entourage(&["tree"]).good().stdout.contains("✓ assistant succeeded"));
}

/// A command that follows another process's tree gets the answer, also when that process ends with it, and
/// continues the tree when the process leaves it unfinished.
#[test]
fn a_follower_of_a_run_gets_its_answer_or_continues_a_killed_one() {
    for is_killed in [false, true] {
        let (place, model) = (DataDir::new(), Model::new());
        let mut first = run(&place, &model, "Plan a trip");
        let asked = model.next();
        let mut command = place.process(&["run", "--resume"]);
        model.ask(&mut command);
        let mut follower = Terminal::of(command);
        follower.shows("assistant");
        if is_killed {
            first.kill().expect("killed");
            first.wait().expect("it ends");
            model.next().text("By train.").end();
        } else {
            asked.text("By train.").end();
            assert_eq!(outcome_of(first).0, 0);
        }
        let (code, shown) = follower.ended();
        assert_eq!((code, shown.contains("By train.")), (Some(0), true), "killed: {is_killed}: {shown}");
    }
}

/// Closing the terminal ends a run cleanly, as Ctrl-C does.
#[test]
fn a_closed_terminal_suspends_a_run() {
    let (place, model) = (DataDir::new(), Model::new());
    let child = run(&place, &model, "Plan a trip");
    drop(model.next());
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-HUP", &pid]).status();
    assert!(sent.expect("kill is there").success());
    let (code, _, stderr) = outcome_of(child);
    assert_eq!(code, 130, "{stderr}");
    assert!(stderr.contains("suspended; continue with: entourage run --resume"), "{stderr}");
}

/// The port requires the token from a file that only its owner can read.
#[test]
fn a_run_accepts_only_requests_with_the_token_of_its_private_file() {
    let (place, model) = (DataDir::new(), Model::new());
    let child = run(&place, &model, "Plan a trip");
    let asked = model.next();
    let sign = place.data().join("server.json");
    assert_eq!(fs::metadata(&sign).expect("there").permissions().mode() & 0o777, 0o600);
    let running: Value = serde_json::from_str(&fs::read_to_string(&sign).expect("read")).expect("JSON");
    let address = running["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an address");
    assert!(address.starts_with("127.0.0.1:"), "{running}");
    let status = |token: &str| {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let head = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close");
        write!(stream, "GET /v1/agents HTTP/1.1\r\n{head}\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer.split_whitespace().nth(1).map(str::to_owned)
    };
    assert_eq!(status("guessed").as_deref(), Some("401"));
    assert_eq!(status(running["token"].as_str().expect("a token")).as_deref(), Some("200"));
    asked.text("Done.").end();
    assert_eq!(outcome_of(child).0, 0);
}

/// A run does one task: it refuses a second one, and nothing remains of the attempt.
#[test]
fn a_second_run_is_refused_while_the_first_is_at_work() {
    let (place, model) = (DataDir::new(), Model::new());
    let child = run(&place, &model, "The first");
    let asked = model.next();
    let second = place.entourage(&["run", "The second"]);
    let error = second.error(1);
    assert!(error.contains(&format!("pid {}", child.id())) && error.contains("entourage serve"), "{error}");
    assert_eq!(place.entourage(&["agents", "--json"]).good().json().len(), 1);
    asked.text("Done.").end();
    assert_eq!(outcome_of(child).0, 0);
}

/// A command waits for another that holds the database and cannot be reached, and says so once that takes
/// long.
#[test]
fn a_command_waits_while_another_process_holds_the_database() {
    let place = DataDir::new();
    place.entourage(&["run", "Say hello", "--quiet"]).good();
    let lock = fs::File::open(place.data().join("entourage.db.lock")).expect("there");
    lock.lock().expect("free");
    let mut command = place.process(&["agents"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut told = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut told).expect("UTF-8");
    assert!(told.starts_with("waiting for another entourage (pid "), "{told}");
    lock.unlock().expect("held");
    let (code, stdout, _) = outcome_of(child);
    assert_eq!((code, stdout.contains("Say hello")), (0, true), "{stdout}");
}

/// A run does one task: a refused command sends no message to another agent.
#[test]
fn a_run_refuses_a_message_for_another_agent_and_stores_nothing() {
    let (place, model) = (DataDir::new(), Model::new());
    let first = run(&place, &model, "The first");
    model.next().text("Done.").end();
    assert_eq!(outcome_of(first).0, 0);
    let agents = || place.entourage(&["agents", "--json"]).good().json();
    let first = agents()[0]["id"].as_str().expect("an id").to_owned();
    let second = run(&place, &model, "The second");
    let asked = model.next();
    let refused = place.entourage(&["run", "--resume", &first, "more"]);
    assert!(refused.error(1).contains(&format!("pid {}", second.id())), "{refused:?}");
    let stands = agents().into_iter().find(|agent| agent["id"] == *first).expect("it is there");
    assert_eq!((&stands["status"], &stands["items"]), (&json!("succeeded"), &json!(3)));
    asked.text("Done.").end();
    assert_eq!(outcome_of(second).0, 0);
    let tail = place.entourage(&["tail", &first]).good().stdout;
    assert!(!tail.contains("more"), "{tail}");
}

/// A run that a user stopped did not fail.
#[test]
fn a_run_stopped_from_another_terminal_is_stopped_and_not_failed() {
    let (place, model) = (DataDir::new(), Model::new());
    let child = run(&place, &model, "Plan a trip");
    let _asked = model.next();
    place.entourage(&["stop", "@last"]).good();
    let (code, stdout, stderr) = outcome_of(child);
    assert_eq!((code, stdout.as_str()), (130, ""), "{stderr}");
    assert!(stderr.contains("stopped; continue with: entourage run --resume agt_"), "{stderr}");
    assert!(!stderr.contains("error:"), "{stderr}");

    let shown = |arguments: &[&str]| place.entourage(arguments).good();
    for arguments in [&["agents"][..], &["tree"], &["show"], &["tail"], &["export", "@last"]] {
        let shown = shown(arguments).stdout;
        assert!(shown.contains("stopped") && !shown.contains("failed"), "{arguments:?}: {shown}");
    }
    let agents = shown(&["agents", "--status", "stopped", "--json"]).json();
    assert_eq!((agents.len(), &agents[0]["status"]), (1, &json!("stopped")));
    assert_eq!(shown(&["agents", "--status", "failed", "--json"]).stdout, "");
    assert_eq!(shown(&["tree", "--json"]).json()[0]["agents"][0]["status"], "stopped");
    let told = shown(&["tail", "--json"]).json();
    let last = told.iter().rfind(|event| event["event"] == "agent_status").expect("an end");
    assert_eq!(last["status"], "stopped");
    assert!(!stderr.contains("failed"), "{stderr}");
    let report = place.entourage(&["run", "--resume", "@last", "--json"]);
    assert_eq!((report.code, &report.json().last().expect("a report")["status"]), (130, &json!("stopped")));
}

/// A stop ends a run whose agent waits for another, and also its `--resume`.
#[test]
fn a_stop_ends_a_run_that_waits_for_a_sub_agent() {
    let (place, model) = (DataDir::new(), Model::new());
    let child = run(&place, &model, "Plan a trip");
    model.next().call("send_message", &json!({ "recipient": "researcher", "message": "Look" })).end();
    let _researcher = model.next();
    place.entourage(&["stop", "@last"]).good();
    let (code, stdout, stderr) = outcome_of(child);
    assert_eq!((code, stdout.as_str()), (130, ""), "{stderr}");
    let again = place.entourage(&["run", "--resume", "@last"]);
    assert_eq!(again.code, 130, "{again:?}");
}

/// The run that waits for an agent returns the answer to a new instruction for it.
#[test]
fn a_run_waiting_for_a_sub_agent_answers_a_modified_instruction() {
    let (place, model) = (DataDir::new(), Model::new());
    let child = run(&place, &model, "Plan a trip");
    model.next().call("send_message", &json!({ "recipient": "researcher", "message": "Look" })).end();
    let _researcher = model.next();
    place.entourage(&["modify", "@last", "Stay at home"]).good();
    model.next().text("At home.").end();
    let (code, stdout, stderr) = outcome_of(child);
    assert_eq!((code, stdout.as_str()), (0, "At home.\n"), "{stderr}");
}

/// With several open questions `@last` is refused and all are listed; the answered question is named, too.
#[test]
fn answer_last_is_refused_with_a_list_if_several_questions_are_open() {
    let (place, model) = (DataDir::new(), Model::asking("Which colour?"));
    for task in ["The first", "The second"] {
        let mut run = place.command(&["run", task]);
        assert_eq!(Ended::of(model.asked_by(&mut run)).code, 3);
    }
    let refused = place.entourage(&["answer", "@last", "Green"]);
    let error = refused.error(2);
    assert!(error.contains("2 questions are open: qst_"), "{error}");
    assert_eq!(error.matches("(assistant: Which colour?)").count(), 2, "{error}");
    let answered = place.entourage(&["answer", id(error, "qst_"), "Green"]).good();
    assert!(answered.stderr.contains("assistant asks: Which colour? (qst_"), "{answered:?}");
    let last = place.entourage(&["answer", "@last", "Blue"]).good();
    assert!(last.stderr.contains("answered; continue with: entourage run --resume agt_"), "{last:?}");
}

/// No process reads a message to an agent at rest until a command continues it.
#[test]
fn a_steer_without_a_process_at_work_is_stored_for_later() {
    let place = DataDir::new();
    place.entourage(&["run", "Say hello", "--quiet"]).good();
    let steered = place.entourage(&["steer", "@last", "briefly"]).good();
    assert!(steered.stderr.starts_with("steer: stored; the agent reads it when it continues"), "{steered:?}");
}

/// A message that comes during the last answer is read by another run: `run` waits for that, and prints both
/// answers.
#[test]
fn a_message_during_the_last_answer_is_answered_by_the_same_command() {
    for form in ["--quiet", "--json"] {
        let (place, model) = (DataDir::new(), Model::new());
        let mut command = place.process(&["run", "One", form]);
        model.ask(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        let first = model.next();
        place.entourage(&["steer", "@last", "Two"]).good();
        first.text("First.").end();
        let second = model.next();
        assert!(second.body.to_string().contains("Two"), "{}", second.body);
        second.text("Second.").end();
        let (code, stdout, stderr) = outcome_of(child);
        assert_eq!(code, 0, "{stderr}");
        let answer = match form {
            "--json" => {
                let last = stdout.lines().last().expect("a line");
                serde_json::from_str::<Value>(last).expect("JSON")["answer"].clone()
            }
            _ => stdout.trim_end().into(),
        };
        assert_eq!(answer, "First.\n\nSecond.", "{stderr}");
    }
}

/// Asserts what other commands show while an agent waits for an answer at another terminal. Returns the
/// question's id.
#[track_caller]
fn assert_question_is_shown(place: &DataDir, task: &str) -> String {
    let tree = place.entourage(&["tree"]).good();
    assert!(tree.stdout.contains("? assistant asks: Which colour?"), "{tree:?}");
    assert_eq!(tree.stderr, "", "somebody is at work");
    let (agent, question) = (id(&tree.stdout, "agt_"), id(&tree.stdout, "qst_"));
    assert!(place.entourage(&["agents"]).good().stdout.contains(agent));
    let tail = place.entourage(&["tail", &agent[30..]]).good().stdout;
    for told in [format!("reads from user: {task}"), format!("question {question} open: Which colour?")] {
        assert!(tail.contains(&told), "{tail}");
    }
    assert_eq!(place.entourage(&["usage", "--json"]).good().json()[0]["total"]["calls"], 1);
    question.to_owned()
}

/// A question of a task at a terminal is answered from another terminal, by a part of its id.
#[test]
fn a_question_of_a_run_can_be_answered_from_another_terminal() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut command = place.process(&["run", "Paint it"]);
    model.ask(&mut command);
    let mut terminal = Terminal::of(command);
    model.next().call("ask_user", &json!({ "question": "Which colour?" })).end();
    terminal.shows("? assistant asks: Which colour?");
    let question = assert_question_is_shown(&place, "Paint it");
    let answered = place.entourage(&["answer", &question[30..], "Green"]).good();
    assert!(answered.stderr.contains("the agent reads it"), "{answered:?}");
    let asked = model.next();
    assert!(asked.body.to_string().contains("Green"), "{}", asked.body);
    terminal.shows("(the question is no longer open)");
    asked.text("It is green.").end();
    assert_eq!(terminal.ended(), (Some(0), "It is green.\n".to_owned()));
}

/// Questions of a conversation are answered from another terminal, by a part of an id and by `@last`.
#[test]
fn a_question_of_a_chat_can_be_answered_from_another_terminal() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut command = place.process(&["chat"]);
    model.ask(&mut command);
    let mut chat = Terminal::of(command);
    chat.shows("> ");
    chat.types("Paint it");
    model.next().call("ask_user", &json!({ "question": "Which colour?" })).end();
    chat.shows("? assistant asks: Which colour?");
    let question = assert_question_is_shown(&place, "Paint it");
    let answered = place.entourage(&["answer", &question[30..], "Green"]).good();
    assert!(answered.stderr.contains("the agent reads it"), "{answered:?}");
    let asked = model.next();
    assert!(asked.body.to_string().contains("Green"), "{}", asked.body);
    chat.shows("(the question is no longer open)");
    asked.call("ask_user", &json!({ "question": "Which brush?" })).end();
    chat.shows("? assistant asks: Which brush?");
    place.entourage(&["answer", "@last", "The thin one"]).good();
    let asked = model.next();
    assert!(asked.body.to_string().contains("The thin one"), "{}", asked.body);
    asked.text("It is green.").end();
    chat.shows(" tokens");
    chat.types("/quit");
    assert_eq!(chat.ended().0, Some(0));
    let shown = place.entourage(&["show", "@last"]).good().stdout;
    assert!(shown.contains("It is green."), "{shown}");
}

/// A conversation with the agents of another terminal's `run` loses nothing when that ends: a later server
/// has them, too.
#[test]
fn a_chat_attached_to_a_run_continues_after_the_run_ends() {
    let (place, model) = (DataDir::new(), Model::new());
    let child = run(&place, &model, "Plan a trip");
    let asked = model.next();
    let mut command = place.process(&["chat", "@last"]);
    model.ask(&mut command);
    let mut chat = Terminal::whole(command, 100);
    chat.shows("Plan a trip");
    asked.text("By train.").end();
    assert_eq!(outcome_of(child).0, 0);
    chat.shows("has ended. The conversation continues once `entourage serve` runs");
    chat.types("And back?");
    chat.shows("(kept)");
    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    model.ask(&mut command);
    let server = Server::of(command);
    let asked = model.next();
    assert!(asked.body.to_string().contains("And back?"), "{}", asked.body);
    asked.text("By boat.").end();
    let picture = chat.stands("By boat.");
    assert!(picture.contains("By train."), "{picture}");
    chat.types("/quit");
    assert_eq!(chat.ended().0, Some(0));
    drop(server);
}

/// Parts of ids are accepted where they match only one.
#[test]
fn an_ambiguous_part_of_an_id_is_refused_with_its_matches() {
    let place = DataDir::new();
    place.entourage(&["run", "The first", "--quiet"]).good();
    place.entourage(&["run", "The second", "--quiet"]).good();
    let agents = place.entourage(&["agents", "--json"]).good().json();
    let ids: Vec<&str> = agents.iter().filter_map(|agent| agent["id"].as_str()).collect();
    let last = place.entourage(&["tree", "@last", "--json"]).good().json();
    assert_eq!(last[0]["agents"][0]["title"], "The second");
    let by_end = place.entourage(&["tree", &ids[1][26..], "--json"]).good().json();
    assert_eq!(by_end[0]["agents"][0]["title"], "The first");

    let both = &ids[0][..8];
    assert!(ids[1].starts_with(both), "made in the same week: {ids:?}");
    let refused = place.entourage(&["tree", both]);
    let error = refused.error(2);
    assert!(error.contains(&format!("{} (assistant: The second)", ids[0])), "{error}");
    assert!(error.contains("Give more of the id"), "{error}");
    let none = place.entourage(&["show", "agt_00000000"]);
    assert!(none.error(2).contains("`entourage agents` lists them"), "{none:?}");
    let wrong = place.entourage(&["show", "yesterday"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("@last"), "{wrong:?}");
}
