//! One child process, from its start to its end.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout};

use super::{Alive, WorkerCommand};
use crate::confine::Interpreter;
use crate::error::Error;
use crate::frame::{self, Reply};
use crate::progress::Progress;
use crate::script::Limits;
use crate::worker::OUT_OF_MEMORY;

/// How long a process may take to start.
const START: Duration = Duration::from_secs(20);

/// How long a process may take to end once it closed its output.
const END: Duration = Duration::from_secs(5);

/// How long a run may take beyond its limit of time: for what Python does not count, such as reading the request.
const SLACK: Duration = Duration::from_secs(1);

/// The status of a process that a signal ended is this much more than the signal's number, where another process tells.
#[cfg(unix)]
pub(crate) const SIGNALLED: i32 = 128;

/// Signals that the code's own process does not get for what the code does: those of a terminal that closes or of who
/// stops a program, and that of the system when memory runs out.
const FROM_OUTSIDE: [i32; 4] = [1, 2, 9, 15];

/// Bytes that are read of what a process says when it ends.
const SAID_BYTES: u64 = 4 << 10;

#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    requests: ChildStdin,
    replies: ChildStdout,
    said: ChildStderr,
    id: u32,
    owner: String,
    used: Instant,
    alive: Arc<Alive>,
}

/// What a run came to, and whether its process should run nothing more.
pub(super) struct Ran {
    pub(super) progress: Progress,
    pub(super) spent: bool,
}

/// Why a process replied nothing.
pub(super) enum Failure {
    /// It ended.
    Gone,
    /// Its run failed.
    Run(Error),
}

impl Process {
    pub(super) async fn start(
        command: &WorkerCommand,
        owner: &str,
        alive: &Arc<Alive>,
    ) -> Result<(Self, Interpreter), Error> {
        // It works in the root directory, where a relative path would lead elsewhere.
        let is_path = command.program.components().count() > 1;
        let program =
            if is_path { std::path::absolute(&command.program) } else { Ok(command.program.clone()) };
        let start_error = |why: String| {
            let program = command.program.display().to_string();
            tracing::warn!(program, why, "the process for code cannot be started");
            Error::Start { program, why }
        };
        let cannot = |source: io::Error| start_error(source.to_string());
        let mut start = Command::new(program.map_err(cannot)?);
        start
            .args(&command.args)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Where there are groups of processes, the whole group is.
            .kill_on_drop(cfg!(not(unix)));
        #[cfg(unix)]
        start.process_group(0).current_dir("/");
        let mut child = start.spawn().map_err(cannot)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take(), child.id());
        let (Some(requests), Some(replies), Some(said), Some(id)) = pipes else {
            return Err(cannot(io::Error::other("it has no pipes")));
        };
        alive.lock().insert(id, owner.to_owned());
        let mut process = Self {
            child,
            requests,
            replies,
            said,
            id,
            owner: owner.to_owned(),
            used: Instant::now(),
            alive: Arc::clone(alive),
        };
        match timeout(START, frame::receive(&mut process.replies, frame::MAX_REPLY_BYTES)).await {
            Ok(Ok((json, _))) => match serde_json::from_slice(&json) {
                Ok(Reply::Ready(interpreter)) => Ok((process, interpreter)),
                Ok(other) => Err(Error::Reply(format!("{other:?} before it was ready"))),
                Err(error) => Err(Error::Reply(error.to_string())),
            },
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                // No code has run yet.
                let (status, said) = process.ended().await?;
                Err(start_error(format!("{status}{said}")))
            }
            Ok(Err(error)) => Err(Error::Reply(error.to_string())),
            Err(_) => Err(cannot(io::ErrorKind::TimedOut.into())),
        }
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// How long it has had no run.
    pub(super) fn unused_for(&self) -> Duration {
        self.used.elapsed()
    }

    /// Has it run a request, whose reply has at most so many bytes.
    pub(super) async fn run(&mut self, request: &[u8], limits: &Limits, most: usize) -> Result<Ran, Failure> {
        let within = limits.wall + SLACK;
        let exchanged = match timeout(within, self.exchange(request, most)).await {
            Ok(exchanged) => exchanged,
            Err(_) => return Err(Failure::Run(Error::TimedOut { limit: limits.wall })),
        };
        self.used = Instant::now();
        let (json, snapshot) = match exchanged {
            Ok(reply) => reply,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe) =>
            {
                return Err(Failure::Gone);
            }
            Err(error) => return Err(Failure::Run(Error::Reply(error.to_string()))),
        };
        let failed = |error| Err(Failure::Run(error));
        match serde_json::from_slice(&json) {
            Ok(Reply::Ran { mut progress, spent }) => {
                if let Progress::Blocked { snapshot: taken, .. } = &mut progress {
                    *taken = (!snapshot.is_empty()).then_some(snapshot);
                }
                Ok(Ran { progress, spent })
            }
            Ok(Reply::Mistaken(mistake)) => failed(Error::Record(mistake)),
            Ok(Reply::TooLarge(bytes)) => {
                failed(Error::TooLarge { what: "what the code came to", bytes, limit: most as u64 })
            }
            Ok(Reply::Ready(_)) => failed(Error::Reply("it is ready again".to_owned())),
            Err(error) => failed(Error::Reply(error.to_string())),
        }
    }

    async fn exchange(&mut self, request: &[u8], most: usize) -> io::Result<(Vec<u8>, Vec<u8>)> {
        self.requests.write_all(request).await?;
        self.requests.flush().await?;
        frame::receive(&mut self.replies, most).await
    }

    /// Why the process ended, which it is about to or did, as a run within these limits.
    pub(super) async fn cause(&mut self, limits: &Limits) -> Error {
        match self.ended().await {
            Ok((status, said)) => cause(status, &said, limits),
            Err(error) => error,
        }
    }

    /// How it ended, and what it said, after a colon.
    async fn ended(&mut self) -> Result<(ExitStatus, String), Error> {
        let closed = |_| Error::Reply("it closed its output and goes on".to_owned());
        let status = timeout(END, self.child.wait()).await.map_err(closed)??;
        let mut said = Vec::new();
        let mut words = (&mut self.said).take(SAID_BYTES);
        // What it said is a help only, so it is not waited for where something else holds the other end.
        let _ = timeout(END, words.read_to_end(&mut said)).await;
        let said = match String::from_utf8_lossy(&said).trim() {
            "" => String::new(),
            said => format!(": {said}"),
        };
        Ok((status, said))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.alive.lock().remove(&self.id);
        // The id may belong to another process once this one was waited for.
        #[cfg(unix)]
        if self.child.id().is_some()
            && let Some(group) = i32::try_from(self.id).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// What a process died of, from its status and from what it said.
fn cause(status: ExitStatus, said: &str, limits: &Limits) -> Error {
    if said.contains("overflowed its stack") || signal(status) == Some(11) {
        return Error::TooDeep;
    }
    let gave_up = status.code() == Some(OUT_OF_MEMORY) || said.contains("memory allocation of");
    if gave_up {
        return Error::OutOfMemory { limit_bytes: limits.memory_bytes };
    }
    if used_up_time(status) {
        return Error::TimedOut { limit: limits.cpu };
    }
    if let Some(signal) = signal(status).filter(|signal| FROM_OUTSIDE.contains(signal)) {
        return Error::Killed { signal };
    }
    Error::Crashed { status: status.to_string(), said: said.to_owned() }
}

/// Whether it reached the system's limit of processor time.
fn used_up_time(status: ExitStatus) -> bool {
    signal(status) == Some(24)
}

/// The signal that ended it, or a process below it that it tells of.
#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    let below = status.code().filter(|code| *code > SIGNALLED).map(|code| code - SIGNALLED);
    std::os::unix::process::ExitStatusExt::signal(&status).or(below)
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn died(status: i32, said: &str) -> Error {
        cause(ExitStatus::from_raw(status), said, &Limits::default())
    }

    #[test]
    fn what_a_process_died_of_is_told() {
        assert!(matches!(died(OUT_OF_MEMORY << 8, ""), Error::OutOfMemory { .. }));
        assert!(matches!(died(6, "memory allocation of 8 bytes failed"), Error::OutOfMemory { .. }));
        assert!(matches!(died(9, ""), Error::Killed { signal: 9 }));
        assert!(matches!(died(15, ""), Error::Killed { signal: 15 }));
        assert!(matches!(died((128 + 9) << 8, ""), Error::Killed { signal: 9 }));
        assert!(matches!(died(24, ""), Error::TimedOut { .. }));
        assert!(matches!(died((128 + 24) << 8, ""), Error::TimedOut { .. }));
        assert!(matches!(died((128 + 11) << 8, ""), Error::TooDeep));
        assert!(matches!(died(6, "thread 'a' has overflowed its stack"), Error::TooDeep));
        let crash = died(101 << 8, "panicked at a.rs").to_string();
        assert!(crash.contains("exit status: 101") && crash.contains("panicked at a.rs"), "{crash}");
    }
}
