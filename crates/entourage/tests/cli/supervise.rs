//! MCP servers of this machine end with the program that started them, whatever they do about it.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{Patience, Place};

/// A server that reads nothing, is deaf to signals that ask, and has started one with a session of its
/// own; it says who they are.
const STUBBORN: &str = "trap '' TERM HUP INT; setsid sleep 1000 & echo $$; \
                        until read -r pid name state parent group session rest </proc/$!/stat && [ $session = $! ]; \
                        do :; done; echo $!; while :; do sleep 1000; done";

/// How long they may take to be gone.
const SOON: Duration = Duration::from_secs(20);

/// Starts it, and returns the supervisor and those below it.
fn started(place: &Place) -> (Child, Vec<String>) {
    let mut command = place.process(&["supervise", "--", "sh", "-c", STUBBORN]);
    let mut supervisor = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let lines = BufReader::new(supervisor.stdout.take().expect("piped")).lines();
    let below: Vec<String> = lines.take(2).map(|line| line.expect("says who it is")).collect();
    assert_eq!(below.iter().filter(|pid| runs(pid)).count(), 2, "{below:?}");
    (supervisor, below)
}

/// Whether a process is there, and not only as what its parent has not yet heard of.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Ends with the test, whatever comes of it.
struct Mortal(Child);

impl Drop for Mortal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the engine with these words, which starts the stubborn server of its settings; ends the engine with this
/// signal, and waits until all that the server is and has started is gone. Returns with what exit code the engine
/// ended, if it was one.
fn leaves_nothing_behind(words: &[&str], signal: Signal) -> Option<i32> {
    let place = Place::new();
    let pids = place.path().join("pids");
    let script = format!("exec >\"$0\"; {STUBBORN}");
    let arguments = serde_json::json!(["-c", script, pids]);
    place.write(
        "data/entourage.toml",
        &format!("[[tools.mcp]]\nname = \"stubborn\"\ncommand = \"sh\"\nargs = {arguments}\n"),
    );
    let mut command = place.process(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut engine = Mortal(command.spawn().expect("starts"));
    let _patience = Patience::with(&engine.0);
    let begun = Instant::now();
    let below: Vec<String> = loop {
        let told = fs::read_to_string(&pids).unwrap_or_default();
        if told.ends_with('\n') && told.lines().count() == 2 {
            break told.lines().map(str::to_owned).collect();
        }
        assert!(begun.elapsed() < SOON, "no server is started: {told}");
        std::thread::yield_now();
    };
    assert!(below.iter().all(|pid| runs(pid)), "{below:?}");
    kill_process(Pid::from_child(&engine.0), signal).expect("sent");
    let code = engine.0.wait().expect("it was there").code();
    let killed = Instant::now();
    while below.iter().any(|pid| runs(pid)) {
        if killed.elapsed() > SOON {
            for pid in below.iter().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
                let _ = kill_process(pid, Signal::KILL);
            }
            panic!("they stay after {signal:?}: {below:?}");
        }
        std::thread::yield_now();
    }
    code
}

/// The engine starts every server of its settings under a supervisor: after SIGKILL nobody else is left to end
/// them.
#[test]
fn what_an_mcp_server_started_is_gone_once_the_engine_was_killed() {
    assert_eq!(leaves_nothing_behind(&["serve", "--bind", "127.0.0.1:0"], Signal::KILL), None);
}

#[test]
fn what_an_mcp_server_started_is_gone_once_the_engine_was_told_to_end() {
    assert_eq!(leaves_nothing_behind(&["serve", "--bind", "127.0.0.1:0"], Signal::TERM), Some(0));
}

#[test]
fn what_an_mcp_server_started_is_gone_once_a_run_was_told_to_end() {
    assert_eq!(leaves_nothing_behind(&["run", "Hello"], Signal::TERM), Some(130));
}

fn all_gone(mut supervisor: Child, below: &[String]) {
    let begun = Instant::now();
    while supervisor.try_wait().expect("can be asked").is_none() {
        assert!(begun.elapsed() < SOON, "the supervisor stays");
        std::thread::yield_now();
    }
    assert!(below.iter().all(|pid| !runs(pid)), "{below:?}");
}

/// As when the program is killed, whatever by: the system closes what it held.
#[test]
fn whatever_a_server_started_is_gone_once_its_input_has_ended() {
    let place = Place::new();
    let (mut supervisor, below) = started(&place);
    drop(supervisor.stdin.take());
    all_gone(supervisor, &below);
}

#[test]
fn whatever_a_server_started_is_gone_once_its_supervisor_is_told_to_end() {
    let place = Place::new();
    let (supervisor, below) = started(&place);
    kill_process(Pid::from_child(&supervisor), Signal::TERM).expect("sent");
    all_gone(supervisor, &below);
}

/// What a server says and hears goes through, and its end is the supervisor's.
#[test]
fn a_server_under_a_supervisor_hears_and_says_what_it_would_without() {
    use std::io::Write;

    let place = Place::new();
    let mut command =
        place.process(&["supervise", "--", "sh", "-c", "read line; echo \"heard $line\"; exit 7"]);
    let mut supervisor = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let input = supervisor.stdin.as_mut().expect("piped");
    input.write_all(b"hello\n").expect("is read");
    input.flush().expect("is read");
    let mut line = String::new();
    BufReader::new(supervisor.stdout.take().expect("piped")).read_line(&mut line).expect("says it");
    assert_eq!((line.as_str(), supervisor.wait().expect("ends").code()), ("heard hello\n", Some(7)));
}
