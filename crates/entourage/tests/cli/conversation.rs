//! Tests of `chat` at a terminal: its line editor, and the output above it.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Ended, Patience, id},
    model::Model,
    server::Server,
    terminal::Terminal,
};

fn chat(place: &DataDir, model: &Model, arguments: &[&str]) -> Command {
    let mut command = place.process(&[&["chat"], arguments].concat());
    model.ask(&mut command);
    command
}

fn serve(place: &DataDir, model: &Model) -> Server {
    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    model.ask(&mut command);
    Server::of(command)
}

/// A database that refuses every post, as on a full disk, until [`ROOM`] is executed.
fn refuse_posts(place: &DataDir) -> Connection {
    let database = Connection::open(place.data().join("entourage.db")).expect("the database");
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON inbox BEGIN SELECT RAISE(ABORT, 'no room'); END";
    database.execute_batch(refuse).expect("changed");
    database
}

const ROOM: &str = "DROP TRIGGER refuse";

/// A pasted text of several lines is one message. The history keeps it for the next conversation, readable by
/// its owner only.
#[test]
fn a_paste_is_one_message_and_the_history_recalls_it() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 80);
    terminal.shows("> ");
    terminal.sends("\x1b[200~first line\nsecond line\nthird line\x1b[201~");
    terminal.stands("third line");
    terminal.sends("\r");
    let asked = model.next();
    assert!(asked.body.to_string().contains(r"first line\nsecond line\nthird line"), "{}", asked.body);
    asked.text("Heard all three.").end();
    terminal.stands("Heard all three.");
    terminal.stands(" tokens");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
    let history = place.data().join("chat_history");
    assert_eq!(fs::metadata(&history).expect("there").permissions().mode() & 0o777, 0o600);

    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 80);
    terminal.shows("> ");
    // Twice up: the line that ended the last conversation is in the history, too.
    terminal.sends("\x1b[A\x1b[A");
    terminal.stands("second line");
    terminal.sends("\r");
    let asked = model.next();
    assert!(asked.body.to_string().contains(r"first line\nsecond line\nthird line"), "{}", asked.body);
}

/// Input during a streamed answer stays on its own line below, and the agent reads it before its next step.
#[test]
fn typed_input_stays_on_its_own_line_below_a_streamed_answer() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 80);
    terminal.shows("> ");
    terminal.types("Tell me");
    let asked = model.next().text("The first row.\n");
    terminal.stands("The first row.");
    terminal.sends("and briefly");
    terminal.stands("> and briefly");
    let asked = asked.text("The second row.\nThe third");
    let picture = terminal.stands("The second row.");
    let rows: Vec<&str> = picture.lines().collect();
    let first = rows.iter().position(|row| *row == "The first row.").expect("whole");
    assert_eq!(rows[first + 1], "The second row.", "{picture}");
    terminal.stands("The second row.\n> and briefly");
    terminal.sends("\r");
    asked.text(" row.").end();
    let asked = model.next();
    assert!(asked.body.to_string().contains("and briefly"), "{}", asked.body);
    terminal.stands("The third row.");
    asked.text("Brief.").end();
    terminal.stands("Brief.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// Commands work also while the agent works; they are not sent to it.
#[test]
fn chat_commands_work_while_the_agent_works() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("Work");
    let _asked = model.next();
    terminal.types("/tree");
    terminal.stands("● assistant running");
    terminal.types("/reject no");
    terminal.stands("no question is open");
    terminal.types("/dance");
    terminal.stands("there is no command /dance; /help lists them");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
    let tail = place.entourage(&["tail"]).good().stdout;
    assert!(!tail.contains("/tree") && !tail.contains("/reject"), "{tail}");
}

/// A client that joins during a streamed answer sees it from its beginning.
#[test]
fn a_client_that_joins_mid_answer_sees_it_from_its_beginning() {
    let (place, model) = (DataDir::new(), Model::new());
    let server = serve(&place, &model);
    let mut first = Terminal::whole(chat(&place, &model, &[]), 80);
    first.shows("> ");
    first.types("Tell me");
    let asked = model.next().text("The beginning\nand the mid");
    first.stands("The beginning");
    let mut second = Terminal::whole(chat(&place, &model, &["@last"]), 80);
    second.stands("The beginning");
    asked.text("dle and the end").end();
    for terminal in [&mut first, &mut second] {
        let picture = terminal.stands("and the middle and the end");
        assert_eq!(picture.matches("The beginning").count(), 1, "{picture}");
    }
    drop(server);
}

/// Messages of other senders are shown at once with their answers, and the next answer appears below its
/// message.
#[test]
fn chat_shows_messages_sent_elsewhere_and_their_answers_in_order() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("/help lists the commands");
    terminal.shows("> ");
    terminal.types("One");
    model.next().text("The first.").end();
    terminal.shows("The first.");
    terminal.shows(" tokens");
    place.entourage(&["steer", "@last", "You there?"]).good();
    let asked = model.next();
    terminal.shows("You there?  (sent elsewhere)");
    asked.text("I am here.").end();
    terminal.shows("I am here.");
    terminal.shows(" tokens");
    terminal.types("Two");
    model.next().text("The second.").end();
    terminal.shows("The second.");
    terminal.shows(" tokens");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// A question that comes while the user does not type is shown, and the next line is its answer.
#[test]
fn an_unprompted_question_is_shown_and_the_next_line_answers_it() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("One");
    model.next().text("The first.").end();
    terminal.shows(" tokens");
    place.entourage(&["steer", "@last", "Paint it"]).good();
    model.next().call("ask_user", &json!({ "question": "Which colour?" })).end();
    terminal.shows("? assistant asks: Which colour?");
    terminal.types("Green");
    let asked = model.next();
    let messages = asked.body["messages"].as_array().cloned().unwrap_or_default();
    let answers: Vec<_> = messages.iter().filter(|message| message["role"] == "tool").collect();
    assert!(answers.len() == 1 && answers[0].to_string().contains("Green"), "{messages:?}");
    asked.text("It is green.").end();
    terminal.shows("It is green.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// While a question is open, a line is its answer, and the conversation says so; `/say` sends a message.
#[test]
fn a_message_can_be_sent_while_a_question_is_open_and_an_answer_is_called_one() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("Paint it");
    model.next().call("ask_user", &json!({ "question": "Which colour?" })).end();
    terminal.shows("/say TEXT sends a message)");
    terminal.types("/say Take your time");
    terminal.stands("/say Take your time\n>");
    terminal.types("Green");
    terminal.shows("(taken as the answer to the question of assistant)");
    let asked = model.next();
    let messages = asked.body["messages"].as_array().cloned().unwrap_or_default();
    let of = |role: &str| -> Vec<String> {
        let of_role = messages.iter().filter(|message| message["role"] == role);
        of_role.map(|message| message["content"].to_string()).collect()
    };
    let (answers, said) = (of("tool"), of("user"));
    assert!(answers.len() == 1 && answers[0].contains("Green"), "{messages:?}");
    assert!(said.iter().any(|said| said.contains("Take your time")), "{messages:?}");
    asked.text("It is green.").end();
    terminal.shows("It is green.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// The piped line that follows a question can be a message, too.
#[test]
fn a_piped_message_does_not_answer_the_open_question() {
    let place = DataDir::new();
    let question = json!({ "question": "Which colour?", "options": ["Green", "Red"] });
    let model = Model::calling_once("ask_user", &question);
    let mut command = place.command(&["chat"]);
    let said = Ended::of(model.asked_by(command.write_stdin("Paint it\n/say Take your time\n2\n"))).good();
    assert_eq!(said.stdout, "It said: Red\n", "{said:?}");
}

/// A question shows no prompt of its own where the line editor has one.
#[test]
fn a_question_at_a_terminal_shows_one_prompt() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("Paint it");
    model.next().call("ask_user", &json!({ "question": "Which colour?" })).end();
    let picture = terminal.stands("(/decline to decline; /say TEXT sends a message)\n>");
    let asked = picture.find("Which colour?").expect("it is asked");
    assert_eq!(picture[asked..].matches('>').count(), 1, "{picture}");
}

/// The farewell does not refer to an agent that takes no more messages.
#[test]
fn leaving_a_chat_with_a_deleted_agent_says_how_to_read_it() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 200);
    terminal.shows("> ");
    terminal.types("Tell me");
    model.next().text("Told.").end();
    terminal.shows(" tokens");
    place.entourage(&["delete", "@last"]).good();
    terminal.shows("assistant cancelled");
    terminal.types("/quit");
    let said = terminal.all_until("entourage show agt_");
    assert!(said.contains("it was deleted; what it wrote stays readable: entourage show agt_"), "{said}");
    assert!(!said.contains("come back with"), "{said}");
}

/// The user is shown that the server is gone, and what they type meanwhile is sent to the next server, which
/// has another address.
#[test]
fn an_idle_chat_continues_on_the_next_server() {
    let (place, model) = (DataDir::new(), Model::new());
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("One");
    model.next().text("The first.").end();
    terminal.shows(" tokens");
    drop(server);
    let told = terminal.all_until("and `entourage chat agt_");
    let told = told.lines().find(|line| line.contains("note: the server at ")).expect("it is told");
    for part in
        ["it does not listen any more", "continues once `entourage serve` runs", "`entourage chat agt_"]
    {
        assert!(told.contains(part), "on one line: {told}");
    }
    terminal.types("Two");
    terminal.shows("(kept)");
    let server = serve(&place, &model);
    let asked = model.next();
    assert!(asked.body.to_string().contains("Two"), "{}", asked.body);
    asked.text("The second.").end();
    terminal.stands("The second.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(server.stop(), 0);
    let tail = place.entourage(&["tail"]).good().stdout;
    assert_eq!(tail.matches("reads from user: Two").count(), 1, "{tail}");
}

/// A user need not type twice if the server ends before there is an agent.
#[test]
fn a_first_message_is_kept_until_a_server_runs_again() {
    let (place, model) = (DataDir::new(), Model::new());
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    drop(server);
    terminal.types("Tell me");
    let told = terminal.all_until("without a server: /quit");
    assert!(told.contains("The conversation continues once `entourage serve` runs"), "{told}");
    let server = serve(&place, &model);
    let asked = model.next();
    assert!(asked.body.to_string().contains("Tell me"), "{}", asked.body);
    asked.text("Told.").end();
    terminal.stands("Told.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(place.entourage(&["agents", "--json"]).good().json().len(), 1);
    drop(server);
}

/// A user who does not wait for the next server is shown the lines that were not sent, and how to come back.
#[test]
fn quitting_chat_without_a_server_shows_the_unsent_lines() {
    let (place, model) = (DataDir::new(), Model::new());
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("One");
    model.next().text("The first.").end();
    terminal.shows(" tokens");
    drop(server);
    terminal.types("Two");
    terminal.shows("The conversation continues once");
    terminal.types("Three");
    terminal.shows("(kept)");
    // Commands are not kept, only messages.
    terminal.types("/help");
    let help = terminal.all_until("anything else is kept, and sent once `entourage serve` runs");
    assert!(help.contains("/quit") && !help.contains("/tree") && !help.contains("/reject"), "{help}");
    terminal.types("/tree");
    terminal.shows("/tree is not possible now; /quit ends the conversation");
    terminal.types("/quit");
    terminal.shows("may not have been sent: Two");
    terminal.shows("not sent: Three");
    terminal.shows("everything is saved; come back with: entourage chat agt_");
    assert_eq!(terminal.ended().0, Some(0));
}

/// If the next server refuses them, the kept lines are shown, and how to come back.
#[test]
fn chat_shows_the_kept_lines_that_the_next_server_refuses() {
    let (place, model) = (DataDir::new(), Model::new());
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("One");
    model.next().text("The first.").end();
    terminal.shows(" tokens");
    drop(server);
    terminal.shows("The conversation continues once");
    terminal.types("Two");
    terminal.shows("(kept)");
    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    command.env("ENTOURAGE_SERVER__AUTH__JWT__ALGORITHM", "HS256");
    command.env("ENTOURAGE_SERVER__AUTH__JWT__KEY", "a secret of more than thirty-two bytes");
    let _wary = Server::of(command);
    terminal.shows("not sent: Two");
    terminal.shows("everything is saved; come back with: entourage chat agt_");
    terminal.shows("ENTOURAGE_TOKEN");
    assert_eq!(terminal.ended().0, Some(2));
}

/// If the database has less than was shown, `chat` reports that and how to go on, and not that everything was
/// saved.
#[test]
fn chat_reports_that_an_older_copy_of_the_database_was_restored() {
    let (place, model) = (DataDir::new(), Model::new());
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 200);
    terminal.shows("> ");
    terminal.types("One");
    model.next().text("The first.").end();
    terminal.shows(" tokens");
    place.entourage(&["backup", "copy.db"]).good();
    terminal.types("Two");
    model.next().text("The second.").end();
    terminal.shows(" tokens");
    drop(server);
    terminal.shows("The conversation continues once");
    fs::rename(place.path().join("copy.db"), place.data().join("entourage.db")).expect("put back");
    for beside in ["entourage.db-wal", "entourage.db-shm"] {
        fs::remove_file(place.data().join(beside)).expect("left behind");
    }
    let _server = serve(&place, &model);
    let told = terminal.all_until(" continues with what it has");
    assert!(told.contains("was an older copy restored? `entourage chat agt_"), "{told}");
    assert!(!told.contains("everything is saved") && !told.contains("number"), "{told}");
    assert_eq!(terminal.ended().0, Some(1));
    let mut terminal = Terminal::whole(chat(&place, &model, &["@last"]), 100);
    let picture = terminal.stands("The first.");
    assert!(!picture.contains("The second."), "{picture}");
}

/// Input goes only to the engine of this data directory, although another process has the port of its server.
#[test]
fn a_first_message_is_not_sent_to_another_engine_at_the_same_address() {
    let (place, model, other) = (DataDir::new(), Model::new(), DataDir::new());
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    let address = server.address().to_owned();
    drop(server);
    let _other = Server::of(other.process(&["serve", "--bind", &address, "--json"]));
    terminal.types("Tell me");
    terminal.shows("The conversation continues once");
    assert_eq!(other.entourage(&["agents", "--json"]).good().stdout, "", "nobody was made there");
    let _server = serve(&place, &model);
    let asked = model.next();
    assert!(asked.body.to_string().contains("Tell me"), "{}", asked.body);
    asked.text("Told.").end();
    terminal.stands("Told.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// A server that cannot accept a message now is not gone: the message is shown, and the next ones are
/// accepted.
#[test]
fn a_message_the_server_cannot_store_is_shown_and_the_next_is_sent() {
    let (place, model) = (DataDir::new(), Model::new());
    let _server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("Apples");
    model.next().text("The first.").end();
    terminal.shows(" tokens");
    let database = refuse_posts(&place);
    terminal.types("Pears");
    terminal.shows("error: nothing was changed; try again");
    terminal.shows("not sent: Pears");
    database.execute_batch(ROOM).expect("changed");
    terminal.types("Plums");
    let asked = model.next();
    let said = asked.body.to_string();
    assert!(said.contains("Plums") && !said.contains("Pears"), "{said}");
    asked.text("The third.").end();
    terminal.stands("The third.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// The same for a first message: there is no agent yet, and the next message creates it.
#[test]
fn a_first_message_the_server_cannot_store_is_shown_and_the_next_is_sent() {
    let (place, model) = (DataDir::new(), Model::new());
    let _server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    let database = refuse_posts(&place);
    terminal.types("Pears");
    terminal.shows("error: nothing was changed; try again");
    terminal.shows("not sent: Pears");
    database.execute_batch(ROOM).expect("changed");
    terminal.types("Plums");
    let asked = model.next();
    let said = asked.body.to_string();
    assert!(said.contains("Plums") && !said.contains("Pears"), "{said}");
    asked.text("The first.").end();
    terminal.stands("The first.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(place.entourage(&["agents", "--json"]).good().json().len(), 1);
}

/// Piped input that was not accepted is shown with the failure that ends the conversation.
#[test]
fn a_piped_first_message_that_cannot_be_stored_is_shown() {
    let place = DataDir::new();
    place.entourage(&["run", "Before", "--quiet"]).good();
    let _database = refuse_posts(&place);
    let refused = Ended::of(place.command(&["chat"]).write_stdin("Pears\nPlums\n"));
    assert!(refused.error(1).contains("no room"), "{refused:?}");
    assert!(refused.stderr.contains("not sent: Pears\n"), "{refused:?}");
}

/// A server died with a message that it may have accepted, and the next one cannot accept it: the user is not
/// shown that it was not sent, and sending it again delivers it once.
#[test]
fn a_possibly_sent_message_is_reported_so_and_retyping_sends_it_once() {
    let (place, model) = (DataDir::new(), Model::new());
    place.write("data/entourage.toml", "[server]\nheartbeat = 1\n");
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 200);
    terminal.shows("> ");
    terminal.types("One");
    model.next().text("The first.").end();
    terminal.shows(" tokens");
    server.freezes();
    terminal.types("Two");
    terminal.shows("; waiting for its answer");
    drop(server);
    terminal.shows("The conversation continues once");
    let database = refuse_posts(&place);
    let _server = serve(&place, &model);
    terminal.shows("error: nothing was changed; try again");
    terminal.shows("may not have been sent: Two");
    database.execute_batch(ROOM).expect("changed");
    terminal.types("Two");
    let asked = model.next();
    assert!(asked.body.to_string().contains("Two"), "{}", asked.body);
    asked.text("The second.").end();
    terminal.stands("The second.");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
    let tail = place.entourage(&["tail"]).good().stdout;
    assert_eq!(tail.matches("reads from user: Two").count(), 1, "{tail}");
}

/// A lone Esc does not hold up the output until another key is pressed.
#[test]
fn a_lone_escape_key_does_not_block_the_output() {
    let (place, model) = (DataDir::new(), Model::new());
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("One");
    let answer = model.next();
    terminal.sends("\x1b");
    answer.text("The first.").end();
    terminal.shows("The first.");
    terminal.shows(" tokens");
    // Esc followed by Ctrl-U is not a key binding.
    terminal.types("\x15/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// An answer that comes too late for a question is shown, whoever answered it while the server was gone.
#[test]
fn an_answer_too_late_for_its_question_is_reported_as_not_sent() {
    let (place, model) =
        (DataDir::new(), Model::calling_once("ask_user", &json!({ "question": "Which colour?" })));
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &[]), 100);
    terminal.shows("> ");
    terminal.types("Paint it");
    terminal.shows("asks: Which colour?");
    drop(server);
    terminal.shows("The conversation continues once");
    terminal.types("mine");
    terminal.shows("(kept)");
    place.entourage(&["answer", "@last", "theirs"]).good();
    let _server = serve(&place, &model);
    terminal.shows("not sent: mine");
    terminal.shows("It said: theirs");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// A verdict that did not arrive does not count as given because another user gave another one.
#[test]
fn a_verdict_too_late_for_its_question_is_reported_as_not_sent() {
    let place = DataDir::new();
    let kind =
        "---\nname: researcher\ntools: [create_note]\napproval:\n  - tools: create_note\n---\nNote it.\n";
    place.write("data/kinds/researcher.md", kind);
    let note = json!({ "title": "Offers", "content": "Two of them." });
    let model = Model::calling_once("create_note", &note);
    let server = serve(&place, &model);
    let mut terminal = Terminal::whole(chat(&place, &model, &["--kind", "researcher"]), 250);
    terminal.shows("> ");
    terminal.types("Note it");
    terminal.shows("asks for approval to call:");
    drop(server);
    terminal.types("/reject too dear");
    terminal.shows("The conversation continues once");
    place.entourage(&["answer", "@last", "--approve"]).good();
    let _server = serve(&place, &model);
    terminal.shows(" is answered already: `approve`");
    terminal.shows("not sent: /reject too dear");
    terminal.shows("It said: ");
    terminal.types("/quit");
    assert_eq!(terminal.ended().0, Some(0));
}

/// The terminal is restored also when a user does not wait for the end of a conversation that an unfinished
/// paste holds up.
#[test]
fn chat_restores_the_terminal_even_if_an_unfinished_paste_blocks_it() {
    let (place, model) = (DataDir::new(), Model::new());
    let chat = chat(&place, &model, &[]);
    let mut shell = Command::new("bash");
    let then = "case $(stty -a) in *-icanon*) echo 'the terminal is raw';; *) echo 'the terminal is as it was';; esac";
    shell.args(["-c", &format!("\"$@\"; {then}"), "bash"]).arg(chat.get_program()).args(chat.get_args());
    shell.current_dir(place.path()).env_clear();
    shell.envs(chat.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut terminal = Terminal::whole(shell, 100);
    terminal.shows("> ");
    terminal.types("One");
    model.next().text("The first.").end();
    terminal.shows(" tokens");
    terminal.sends("and");
    terminal.stands("> and");
    terminal.sends("\x1b[200~two");
    let sign = fs::read(place.data().join("server.json")).expect("it can be reached");
    let sign: Value = serde_json::from_slice(&sign).expect("JSON");
    let pid =
        sign["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).expect("a process");
    // A signal that comes while another is handled may be missed, and without a pause none would be handled.
    let enough = Instant::now() + Duration::from_secs(60);
    while kill_process(pid, Signal::TERM).is_ok() {
        assert!(Instant::now() < enough, "it never ended");
        Command::new("true").status().expect("it runs");
    }
    terminal.shows("the terminal is as it was");
}

/// Without a terminal a conversation is read line by line, and `/help` lists every command.
#[test]
fn chat_help_lists_every_command() {
    let place = DataDir::new();
    let help = Ended::of(place.command(&["chat"]).write_stdin("/help\n/quit\n")).good().stderr;
    for command in ["/tree", "/say TEXT", "/decline", "/reject WHY", "/edit {…}", "/help", "/quit"] {
        assert!(help.contains(command), "{help}");
    }
}

/// The piped line after a question is its answer, and the end of the input ends the conversation.
#[test]
fn the_piped_line_after_a_question_answers_it() {
    let place = DataDir::new();
    let question = json!({ "question": "Which colour?", "options": ["Green", "Red"] });
    let model = Model::calling_once("ask_user", &question);
    let mut command = place.command(&["chat"]);
    let said = Ended::of(model.asked_by(command.write_stdin("Paint it\n2\n"))).good();
    assert_eq!(said.stdout, "It said: Red\n", "{said:?}");
    let listed = place.entourage(&["agents", "--status", "succeeded", "--json"]).good().json();
    assert_eq!(listed.len(), 1, "{listed:?}");
}

/// No piped input is lost: bytes that are not text are replaced, and the lines after them are sent, too.
#[test]
fn invalid_utf8_in_piped_input_is_replaced_and_later_lines_are_sent() {
    let place = DataDir::new();
    let said = Ended::of(place.command(&["chat"]).write_stdin(&b"Hello\n<\xff>\r\nAgain"[..])).good();
    for asked in ["Asked: Hello\n", "Asked: <\u{fffd}>\n", "Asked: Again\n"] {
        assert!(said.stdout.contains(asked), "{asked}: {said:?}");
    }
    let mut chat = place.process(&["chat"]);
    chat.stdin(fs::File::open(place.path()).expect("a directory")).stderr(Stdio::piped());
    let chat = chat.stdout(Stdio::null()).spawn().expect("it starts");
    let _patience = Patience::with(&chat);
    let told = chat.wait_with_output().expect("it ends").stderr;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("stdin cannot be read any more: "), "{told}");
}

/// A question answered at another terminal does not hold up a piped conversation.
#[test]
fn a_piped_chat_continues_after_its_question_is_answered_elsewhere() {
    let place = DataDir::new();
    let mut command = place.process(&["chat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut chat = command.spawn().expect("it starts");
    let _patience = Patience::with(&chat);
    let mut typed = chat.stdin.take().expect("piped");
    writeln!(typed, "Please ask me first").expect("it reads");
    let mut notes = BufReader::new(chat.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let asked = notes.find(|line| line.contains("qst_")).expect("a question");
    place.entourage(&["answer", id(&asked, "qst_"), "1"]).good();
    notes.find(|line| line.contains("the question is no longer open")).expect("it is noticed");
    writeln!(typed, "Say it again").expect("it reads");
    drop(typed);
    let ended = chat.wait_with_output().expect("it ends");
    let said = String::from_utf8(ended.stdout).expect("UTF-8");
    assert!(ended.status.success() && said.contains("Say it again"), "{said}");
}
