//! A server that runs as a child process, in a process group of its own: launchers such as `npx` or `uvx`
//! start the real server as a grandchild, and both must end.

use std::{collections::BTreeMap, env, ffi::OsString, io, path::PathBuf, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use secrecy::{ExposeSecret, SecretString};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::secrets::Secrets;

/// The environment variables that a server inherits.
const INHERITED: [&str; 3] = ["PATH", "HOME", "LANG"];
/// Longer lines are logged in pieces of so many bytes.
const LINE: u64 = 64 << 10;
/// How long a server may take to end after its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// A running server. Dropping it kills its whole process group, or tells its supervisor to end.
pub(super) struct Child {
    /// Not waited for before its group is killed, except in `end`: until then the operating system cannot
    /// reuse its id, which is also the group's.
    process: tokio::process::Child,
    group: Option<Pid>,
    /// Whether it is a supervisor, which ends the processes that it has started when it receives a signal to
    /// end.
    is_supervised: bool,
}

impl Child {
    /// Starts a server. Its standard error goes to the log.
    pub(super) fn start(
        log: Log,
        supervisor: &[OsString],
        command: &str,
        args: &[String],
        env: &BTreeMap<String, SecretString>,
        cwd: Option<&PathBuf>,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut start = match supervisor {
            [] => Command::new(command),
            [program, first @ ..] => {
                is_there(command, cwd)?;
                let mut start = Command::new(program);
                start.args(first).arg(command);
                start
            }
        };
        start
            .args(args)
            .env_clear()
            .envs(INHERITED.iter().filter_map(|name| Some((name, env::var_os(name)?))))
            .envs(env.iter().map(|(name, value)| (name, value.expose_secret())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(cwd) = cwd {
            start.current_dir(cwd);
        }
        let mut process = start.spawn()?;
        let group = process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pipes = (process.stdout.take(), process.stdin.take(), process.stderr.take());
        let child = Self { process, group, is_supervised: !supervisor.is_empty() };
        let (Some(stdout), Some(stdin), Some(stderr)) = pipes else {
            return Err(io::Error::other("the program has no standard input and output"));
        };
        tokio::spawn(log.follow(stderr));
        Ok((child, stdout, stdin))
    }

    /// Waits until a server whose input has just been closed ends, then kills the rest of its group.
    pub(super) async fn end(mut self) {
        // Remaining processes keep the group's id; the id of an empty group is not reused within this moment.
        let ended = timeout(GRACE, self.process.wait()).await;
        if ended.is_ok() && self.is_supervised {
            // No process is left, and its id may be reused.
            self.group = None;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Fails if no process is left, which is the desired state.
            let _ = match self.is_supervised {
                true => kill_process(group, Signal::TERM),
                false => kill_process_group(group, Signal::KILL),
            };
        }
    }
}

/// Whether the command exists: a supervisor would start either way.
fn is_there(command: &str, cwd: Option<&PathBuf>) -> io::Result<()> {
    let found = match command.contains('/') {
        true => cwd.map_or_else(|| PathBuf::from(command), |cwd| cwd.join(command)).is_file(),
        false => {
            let path = env::var_os("PATH").unwrap_or_default();
            env::split_paths(&path).any(|place| place.join(command).is_file())
        }
    };
    if found { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// The log for a server's standard error.
pub(super) struct Log {
    pub(super) server: String,
    pub(super) secrets: Secrets,
}

impl Log {
    async fn follow(self, stderr: ChildStderr) {
        let (server, mut stderr) = (self.server, BufReader::new(stderr));
        let mut line = Vec::new();
        while let Ok(1..) = (&mut stderr).take(LINE).read_until(b'\n', &mut line).await {
            let text = self.secrets.strike(&String::from_utf8_lossy(&line));
            tracing::debug!(server, "{}", text.trim_end());
            line.clear();
        }
    }
}
