//! A data directory for each test, and the binary in an environment without any keys.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Child,
    sync::mpsc,
    thread,
    time::Duration,
};

use assert_cmd::Command;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A data directory of its own.
pub(crate) struct DataDir {
    directory: TempDir,
}

/// Kills a process that still runs when a test has waited far too long: the test then fails for missing
/// output instead of waiting.
pub(crate) struct Patience {
    _held: mpsc::Sender<()>,
}

impl Patience {
    pub(crate) fn with(child: &Child) -> Self {
        let pid = Pid::from_child(child);
        let (held, ends) = mpsc::channel::<()>();
        thread::spawn(move || {
            if ends.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Self { _held: held }
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl DataDir {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().expect("a directory") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Writes a file and the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, text).expect("written");
        path
    }

    /// The binary with an empty environment except `PATH`; the rehearsal is its model.
    pub(crate) fn process(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_entourage"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            // A planted bug is in the binary.
            .envs(std::env::var_os("PLANTED").map(|bug| ("PLANTED", bug)))
            .env("HOME", self.path())
            .env("ENTOURAGE_DATA", self.data())
            .env("ENTOURAGE_MODEL", "rehearsal")
            .current_dir(self.path())
            .args(arguments);
        command
    }

    /// The same, to be run to its end.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        Command::from_std(self.process(arguments))
    }

    pub(crate) fn entourage(&self, arguments: &[&str]) -> Ended {
        Ended::of(&mut self.command(arguments))
    }
}

impl Ended {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.timeout(Duration::from_secs(60)).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let code = output.status.code().expect("no signal ended it");
        Self { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Returns the output of a successful command.
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// The one line with the error.
    #[track_caller]
    pub(crate) fn error(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "one error on one line: {self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        errors[0]
    }

    /// Each line of stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON on each line")).collect()
    }
}

/// The first word of a text with this prefix: an id.
#[track_caller]
pub(crate) fn id<'a>(text: &'a str, prefix: &str) -> &'a str {
    let start = text.find(prefix).unwrap_or_else(|| panic!("no {prefix} in {text}"));
    let id = &text[start..];
    let end = id.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(id.len());
    &id[..end]
}
