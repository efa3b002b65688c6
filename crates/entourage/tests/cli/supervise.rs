//! Tests that local MCP servers end with the program that started them, whatever they do about it.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::data_dir::{DataDir, Patience};

/// A server that reads nothing, ignores signals that ask it to end, and has started a process with a session
/// of its own; it prints the ids of both.
const STUBBORN: &str = "trap '' TERM HUP INT; setsid sleep 1000 & echo $$; \
                        until read -r pid name state parent group session rest </proc/$!/stat && [ $session = $! ]; \
                        do :; done; echo $!; while :; do sleep 1000; done";

/// How long they may take to end.
const SOON: Duration = Duration::from_secs(20);

/// Starts it, and returns the supervisor and the processes below it.
fn start_supervisor(place: &DataDir) -> (Child, Vec<String>) {
    let mut command = place.process(&["supervise", "--", "sh", "-c", STUBBORN]);
    let mut supervisor = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let lines = BufReader::new(supervisor.stdout.take().expect("piped")).lines();
    let below: Vec<String> = lines.take(2).map(|line| line.expect("says who it is")).collect();
    assert_eq!(below.iter().filter(|pid| runs(pid)).count(), 2, "{below:?}");
    (supervisor, below)
}

/// Whether a process runs and is not a zombie.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// A process that ends with the test, whatever its result.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the engine with these arguments, which starts the stubborn server of its settings; ends the engine
/// with this signal, and waits until the server and all processes it started are gone. Returns the exit code
/// of the engine, if it has one.
fn assert_engine_ends_its_servers(words: &[&str], signal: Signal) -> Option<i32> {
    let place = DataDir::new();
    let pids = place.path().join("pids");
    let script = format!("exec >\"$0\"; {STUBBORN}");
    let arguments = serde_json::json!(["-c", script, pids]);
    place.write(
        "data/entourage.toml",
        &format!("[[tools.mcp]]\nname = \"stubborn\"\ncommand = \"sh\"\nargs = {arguments}\n"),
    );
    let mut command = place.process(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut engine = KilledOnDrop(command.spawn().expect("starts"));
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

/// The engine starts every server of its settings under a supervisor: after SIGKILL no other process could
/// end them.
#[test]
fn killing_the_engine_ends_every_process_of_its_mcp_servers() {
    assert_eq!(assert_engine_ends_its_servers(&["serve", "--bind", "127.0.0.1:0"], Signal::KILL), None);
}

#[test]
fn stopping_the_engine_ends_every_process_of_its_mcp_servers() {
    assert_eq!(assert_engine_ends_its_servers(&["serve", "--bind", "127.0.0.1:0"], Signal::TERM), Some(0));
}

#[test]
fn stopping_a_run_command_ends_every_process_of_its_mcp_servers() {
    assert_eq!(assert_engine_ends_its_servers(&["run", "Hello"], Signal::TERM), Some(130));
}

fn assert_all_ended(mut supervisor: Child, below: &[String]) {
    let begun = Instant::now();
    while supervisor.try_wait().expect("can be asked").is_none() {
        assert!(begun.elapsed() < SOON, "the supervisor stays");
        std::thread::yield_now();
    }
    assert!(below.iter().all(|pid| !runs(pid)), "{below:?}");
}

/// As when the program is killed by any cause: the system closes what it held.
#[test]
fn a_supervisor_ends_every_process_below_it_when_its_input_closes() {
    let place = DataDir::new();
    let (mut supervisor, below) = start_supervisor(&place);
    drop(supervisor.stdin.take());
    assert_all_ended(supervisor, &below);
}

#[test]
fn a_supervisor_ends_every_process_below_it_at_sigterm() {
    let place = DataDir::new();
    let (supervisor, below) = start_supervisor(&place);
    kill_process(Pid::from_child(&supervisor), Signal::TERM).expect("sent");
    assert_all_ended(supervisor, &below);
}

/// The server's input and output pass through, and the supervisor ends as it does.
#[test]
fn a_supervisor_passes_input_output_and_exit_code_through() {
    use std::io::Write;

    let place = DataDir::new();
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
