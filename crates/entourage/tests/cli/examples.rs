//! Runs the examples as a new user without a key does.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use super::data_dir::DataDir;

/// How long an example may print nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// The last text of the rehearsal in the research chat.
const LAST: &str = "> Noted in this conversation: ";

/// An example, with nothing inherited; the rehearsal is its model.
fn example(place: &DataDir, name: &str) -> Command {
    let mut command =
        Command::new(Path::new(env!("CARGO_BIN_EXE_entourage")).with_file_name("examples").join(name));
    command
        .env_clear()
        .env("HOME", place.path())
        .env("TMPDIR", place.path())
        .env("ENTOURAGE_MODELS__DEFAULT", "rehearsal");
    command
}

/// Runs the research chat, sends `answer` whenever an agent asks for more, and hangs up after a line with
/// `last`. Returns the whole output.
fn research_chat(place: &DataDir, arguments: &[&str], answer: &str, last: &str) -> String {
    let mut chat = example(place, "research_chat")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut say = chat.stdin.take();
    let mut heard = String::new();
    let (lines, said) = mpsc::channel();
    let output = chat.stdout.take().expect("piped");
    thread::spawn(move || {
        // The receiver is gone once the test has failed.
        BufReader::new(output).lines().try_for_each(|line| lines.send(line.expect("UTF-8")))
    });
    loop {
        let line = match said.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                chat.kill().expect("it is there");
                panic!("`{last}` was not said within {} s:\n{heard}", PATIENCE.as_secs());
            }
        };
        if let (Some(say), true) = (&mut say, line.contains(" needs more information: ")) {
            writeln!(say, "{answer}").expect("it listens");
        }
        if line.contains(last) {
            say = None;
        }
        heard.push_str(&line);
        heard.push('\n');
    }
    assert!(chat.wait().expect("it ends").success(), "{heard}");
    heard
}

#[test]
fn the_research_chat_example_asks_a_question_and_can_be_reopened() {
    let place = DataDir::new();
    let task = "Who wrote the first compiler? Ask me if anything is unclear.";
    let heard = research_chat(&place, &[task], "Only those before 1960.", LAST);
    let at = |part: &str| heard.find(part).unwrap_or_else(|| panic!("`{part}` was not said:\n{heard}"));
    let question = at("The Researcher needs more information: ");
    let answer = at("\n> Only those before 1960.");
    assert!(
        at(&format!("\n> {task}")) < question
            && question < answer
            && answer < at("`ask_user` returned:\n> Only those before 1960.")
    );
    assert_eq!(research_chat(&place, &[], "", LAST), heard, "nothing is lost, nothing doubled");
}

#[test]
fn the_agency_example_delegates_and_answers() {
    let ran = example(&DataDir::new(), "agency").arg("A greeting").output().expect("it starts");
    let heard = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(ran.status.success(), "{heard}");
    let at = |part: &str| heard.find(part).unwrap_or_else(|| panic!("`{part}` was not said:\n{heard}"));
    let (call, answer) = (at("Ceo calls send_message"), at("\nCeo: "));
    let developer = at("\nDeveloper: ");
    assert!(call < developer && developer < answer, "{heard}");
}

#[test]
fn the_explore_example_shows_the_states_of_its_agents_and_the_result() {
    let ran = example(&DataDir::new(), "explore").arg("Who wrote the first compiler?").output();
    let ran = ran.expect("it starts");
    let heard = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(ran.status.success(), "{heard}{}", String::from_utf8_lossy(&ran.stderr));
    let at = |part: &str| heard.find(part).unwrap_or_else(|| panic!("`{part}` was not said:\n{heard}"));
    assert!(
        at(" is running") < at(" is completed") && at(" is completed") < at("This is the rehearsal model")
    );
}
