//! Tests of Ctrl-C: work is suspended, not lost, and a command names another process at work.

use std::{
    io::Read,
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    data_dir::{DataDir, Patience, id},
    model::accepted,
    terminal::Terminal,
};

/// A model that takes a request and never answers.
struct SilentModel {
    listener: TcpListener,
}

impl SilentModel {
    fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").expect("a port") }
    }

    /// A run that asks it, and has done so.
    fn run(&self, place: &DataDir) -> Child {
        let address = self.listener.local_addr().expect("an address");
        let mut command = place.process(&["run", "Think hard"]);
        command
            .env("ENTOURAGE_MODEL", "compatible::silent")
            .env("COMPATIBLE_BASE_URL", format!("http://{address}/v1"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        // Held open for as long as the test runs.
        std::mem::forget(accepted(&self.listener));
        child
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
    kill_process(pid, signal).expect("sent");
}

fn read(from: Option<impl Read>) -> String {
    let mut text = String::new();
    from.expect("piped").read_to_string(&mut text).expect("UTF-8");
    text
}

#[test]
fn an_interrupted_run_prints_how_to_resume_and_resumes() {
    for stop in [Signal::INT, Signal::TERM] {
        let (place, model) = (DataDir::new(), SilentModel::new());
        let mut child = model.run(&place);
        let _patience = Patience::with(&child);
        signal(&child, stop);
        let status = child.wait().expect("it ends");
        let stderr = read(child.stderr.take());
        assert_eq!(status.code(), Some(130), "{stderr}");
        let agent = id(&stderr, "agt_");
        assert!(
            stderr.contains(&format!("suspended; continue with: entourage run --resume {agent}")),
            "{stderr}"
        );
        assert_eq!(read(child.stdout.take()), "");

        let ended = place.entourage(&["run", "--resume"]).good();
        assert!(ended.stdout.contains("Think hard"), "{ended:?}");
    }
}

#[test]
fn a_second_process_is_refused_with_the_pid_at_work() {
    let (place, model) = (DataDir::new(), SilentModel::new());
    let mut child = model.run(&place);
    let second = place.entourage(&["run", "Something else"]);
    let error = second.error(1);
    assert!(error.contains(&format!("pid {}", child.id())) && error.contains("entourage serve"), "{error}");

    // After SIGKILL the next start has everything.
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let tree = place.entourage(&["tree"]).good();
    assert!(tree.stdout.contains("Think hard"), "{tree:?}");
    let next = "no process works on it; continue with: entourage run --resume agt_";
    assert!(tree.stderr.contains(next), "{tree:?}");
    assert!(place.entourage(&["run", "--resume"]).good().stdout.contains("Think hard"));
}

/// An agent that is stored as running does not run if no process works on it, and no command shows it as
/// running.
#[test]
fn an_agent_without_a_process_at_work_is_shown_as_suspended() {
    let (place, model) = (DataDir::new(), SilentModel::new());
    let mut child = model.run(&place);
    let said = |command: &str, words: &str| {
        let told = place.entourage(&[command]).good();
        assert!(told.stdout.contains(&format!("assistant {words} ")), "{command}: {told:?}");
        assert_eq!(told.stdout.contains("running"), words == "running", "{command}: {told:?}");
        told.stderr
    };
    for command in ["agents", "tree", "show"] {
        assert_eq!(said(command, "running"), "", "somebody is at work");
    }
    let runs = place.entourage(&["runs"]).good();
    assert!(runs.stdout.starts_with("● run_") && runs.stderr.is_empty(), "{runs:?}");
    child.kill().expect("killed");
    child.wait().expect("it ends");
    said("tree", "suspended");
    said("show", "suspended");
    let exported = place.entourage(&["export", "@last", "--markdown"]).good().stdout;
    assert!(exported.contains("\nassistant, suspended, begun "), "{exported}");
    let asked = place.entourage(&["agents", "--status", "suspended"]);
    assert!(asked.error(2).contains("stored as `running`"), "{asked:?}");
    let note = said("agents", "suspended");
    assert!(note.contains("no process works on") && note.contains("run --resume AGENT"), "{note}");
    let runs = place.entourage(&["runs"]).good();
    assert!(runs.stdout.starts_with("◌ run_") && runs.stdout.contains(" suspended begun "), "{runs:?}");
    assert!(runs.stderr.contains("no process works on the suspended runs"), "{runs:?}");
}

#[test]
fn another_run_leaves_interrupted_work_alone() {
    let (place, model) = (DataDir::new(), SilentModel::new());
    let mut child = model.run(&place);
    child.kill().expect("killed");
    child.wait().expect("it ends");
    place.entourage(&["run", "Something else"]).good();
    let agents = place.entourage(&["agents", "--json"]).good().json();
    let status = |title: &str| {
        let agent = agents.iter().find(|agent| agent["title"] == title).expect("listed");
        agent["status"].as_str().expect("a status").to_owned()
    };
    assert_eq!((status("Something else").as_str(), status("Think hard").as_str()), ("succeeded", "running"));
}

/// A task that a shell runs in the background does not read keys, which would stop it while it holds the
/// database.
#[test]
fn a_run_in_the_background_of_a_shell_finishes_without_drawing() {
    let place = DataDir::new();
    let task = place.process(&["run", "Say hello."]);
    let mut shell = Command::new("setsid");
    shell.args(["--ctty", "bash", "-c", "set -m; \"$@\" & wait $!; echo \"it ended with $?\"", "bash"]);
    shell.arg(task.get_program()).args(task.get_args()).current_dir(place.path()).env_clear();
    shell.envs(task.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut terminal = Terminal::whole(shell, 120);
    let told = terminal.all_until("it ended with 0");
    assert!(told.contains("assistant"), "{told}");
    // It would draw over what the shell writes meanwhile.
    for drawn in ["\u{1b}[J", "Ctrl-C leaves"] {
        assert!(!told.contains(drawn), "{told:?}");
    }
}
