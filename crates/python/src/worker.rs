//! The child's side: one process that runs code for one owner.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use monty_types::{BASELINE_MEMORY, LIVE_MEMORY};

use crate::confine::{Confinement, Interpreter, Process, SLACK_BYTES, limit_run};
use crate::error::Error;
use crate::frame::{self, Reply, Request};
use crate::interpreter;
use crate::progress::Progress;

/// Bytes of the stack that code runs on, for what the interpreter does by recursion.
const STACK_BYTES: usize = 64 << 20;

/// How often memory is measured while code runs.
const MEASURED_EVERY: Duration = Duration::from_millis(2);

/// Bytes by which a process may have grown when a run ends. It runs nothing more if it is larger: the memory limit of
/// the next run would not hold for what its allocator still has.
const MAX_GROWTH: u64 = 32 << 20;

/// How a process ends that panicked, as any program does.
const PANICKED: i32 = 101;

/// How a process ends that used more memory than Python could keep it from.
pub(crate) const OUT_OF_MEMORY: i32 = monty_types::OOM_EXIT_CODE;

/// The child's whole program: confines this process, reads requests from its standard input, and replies on its
/// standard output until there are no more. [`crate::Workers`] starts it.
///
/// A program that is started for this calls nothing else, and has opened no files and started no threads before.
pub fn worker_main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(ended) = std::env::args_os().next_back().and_then(|last| crate::cpython::supervise(&last)) {
        return ended;
    }
    let (process, confinement) = Process::begin();
    let watched = Arc::new(Watched {
        process,
        runs: AtomicBool::new(false),
        most: AtomicU64::new(u64::MAX),
        watcher: thread::current(),
    });
    let worker = Arc::clone(&watched);
    let started = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        let served = catch_unwind(AssertUnwindSafe(|| serve(&worker, confinement)));
        // The thread that watches sleeps, so this one ends the process.
        std::process::exit(match served {
            Ok(Ok(())) => 0,
            Ok(Err(_)) => 1,
            Err(_) => PANICKED,
        })
    });
    match started {
        Ok(_) => watched.watch(),
        Err(_) => ExitCode::FAILURE,
    }
}

/// What the thread that runs code and the one that watches it share.
struct Watched {
    process: Process,
    /// Whether code runs.
    runs: AtomicBool,
    /// Bytes of memory with which it goes on.
    most: AtomicU64,
    watcher: Thread,
}

impl Watched {
    /// Measures memory for as long as code runs, for Python to keep to its limit. Ends the process if that does not
    /// help, as within one long step of the interpreter, or if its parent ended.
    fn watch(&self) -> ExitCode {
        let parent = parent();
        loop {
            if !self.runs.load(Ordering::Acquire) {
                thread::park();
                continue;
            }
            if let Some(resident) = self.process.resident() {
                if resident > self.most.load(Ordering::Relaxed) {
                    std::process::exit(OUT_OF_MEMORY);
                }
                LIVE_MEMORY.store(usize::try_from(resident).unwrap_or(usize::MAX), Ordering::Relaxed);
            }
            if parent != self::parent() {
                std::process::exit(0);
            }
            thread::park_timeout(MEASURED_EVERY);
        }
    }

    fn begin(&self, memory_bytes: u64) {
        let resident = self.process.resident().unwrap_or(0);
        let most = resident.saturating_add(memory_bytes).saturating_add(SLACK_BYTES);
        self.most.store(most, Ordering::Relaxed);
        let resident = usize::try_from(resident).unwrap_or(usize::MAX);
        BASELINE_MEMORY.store(resident, Ordering::Relaxed);
        LIVE_MEMORY.store(resident, Ordering::Relaxed);
        self.runs.store(true, Ordering::Release);
        self.watcher.unpark();
    }

    fn end(&self) {
        self.runs.store(false, Ordering::Release);
    }
}

/// The process that started this one. It is compared, rather than asking the system for a signal when the parent
/// ends: that signal comes when the *thread* ends which started this process, and such threads come and go.
#[cfg(unix)]
fn parent() -> Option<rustix::process::Pid> {
    rustix::process::getppid()
}

#[cfg(not(unix))]
fn parent() -> Option<u32> {
    None
}

fn serve(watched: &Watched, mut confinement: Confinement) -> io::Result<()> {
    Process::finish(&mut confinement);
    let (mut from, mut to) = (io::stdin().lock(), io::stdout().lock());
    let size = watched.process.resident().unwrap_or(0);
    frame::reply(&mut to, &Reply::Ready(Interpreter::BuiltIn(confinement)), &[])?;
    while let Some((json, snapshot)) = frame::read(&mut from)? {
        let request: Request<'_> = serde_json::from_slice(&json)?;
        drop(json);
        limit_run(&watched.process, &request.script.limits)?;
        watched.begin(request.script.limits.memory_bytes);
        let snapshot = (!snapshot.is_empty()).then_some(&*snapshot);
        let ran = interpreter::run(&request.script, &request.record, snapshot);
        watched.end();
        let grown = watched.process.resident().unwrap_or(0).saturating_sub(size);
        reply(&mut to, ran, grown > MAX_GROWTH)?;
    }
    Ok(())
}

fn reply(to: &mut impl Write, ran: Result<Progress, Error>, spent: bool) -> io::Result<()> {
    let mut snapshot = None;
    let reply = match ran {
        Ok(mut progress) => {
            if let Progress::Blocked { snapshot: taken, .. } = &mut progress {
                snapshot = taken.take();
            }
            Reply::Ran { progress, spent }
        }
        Err(Error::Record(mistake)) => Reply::Mistaken(mistake),
        Err(error) => return Err(io::Error::other(error)),
    };
    frame::reply(to, &reply, snapshot.as_deref().unwrap_or_default())
}
