//! The parent's side: processes that run code, a few of them kept for owners whose code waits.

mod process;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::confine::Interpreter;
use crate::cpython::{self, CPython, Installed};
use crate::error::Error;
use crate::frame::{self, Request};
use crate::progress::Progress;
use crate::record::Record;
use crate::script::{Limits, Script};
#[cfg(target_os = "linux")]
pub(crate) use process::SIGNALLED;
use process::{Failure, Process};

/// The program whose main function is [`crate::worker_main`].
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// Its path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// How many processes are kept, and for how long.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Processes that are kept without a run, in all. A kept one serves its owner alone.
    pub kept: usize,
    /// How long a process is kept without a run.
    pub kept_for: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { kept: 4, kept_for: Duration::from_secs(30) }
    }
}

/// A process that runs code, or is kept to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Its id, which is also its process group's.
    pub id: u32,
    /// The only owner whose code it ever runs.
    pub owner: String,
}

/// Runs code, each in a process that is confined ([`Interpreter`]), dies with this value, and serves one owner alone.
#[derive(Debug)]
pub struct Workers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    command: WorkerCommand,
    /// What runs code, if it is not the built-in interpreter.
    cpython: Option<Installed>,
    settings: Settings,
    /// Processes without a run, the one that ran last at the end.
    kept: Mutex<Vec<Process>>,
    /// Whether old ones are looked for.
    sweeps: AtomicBool,
    alive: Arc<Alive>,
}

/// The processes that there are.
#[derive(Debug, Default)]
struct Alive(Mutex<BTreeMap<u32, String>>);

impl Alive {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workers {
    /// Processes of this program. None is started before code runs.
    #[must_use]
    pub fn new(command: WorkerCommand, settings: Settings) -> Self {
        Self::with(command, None, settings)
    }

    /// Processes of this program which run this CPython under bubblewrap, one for each run: none is kept.
    #[must_use]
    pub fn cpython(command: WorkerCommand, cpython: CPython, settings: Settings) -> Self {
        Self::with(command, Some(Installed::new(cpython)), Settings { kept: 0, ..settings })
    }

    fn with(command: WorkerCommand, cpython: Option<Installed>, settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                command,
                cpython,
                settings,
                kept: Mutex::default(),
                sweeps: AtomicBool::new(false),
                alive: Arc::default(),
            }),
        }
    }

    /// Runs code of an owner until it ends or cannot go on, as [`crate::run`] does, in a process. If the future is
    /// dropped, the process is killed. CPython takes no snapshots. So many run at once as are asked for. If a process
    /// crashes that went on from a snapshot, the code is run again from its top.
    ///
    /// # Errors
    /// What [`crate::run`] returns, and what ends a process: its limits of memory and time, a crash, the system.
    pub async fn run(
        &self,
        owner: &str,
        script: &Script,
        record: &Record,
        snapshot: Option<&[u8]>,
    ) -> Result<Progress, Error> {
        let is_cpython = self.shared.cpython.is_some();
        if is_cpython && let Some(mistake) = record.mistake() {
            return Err(Error::Record(mistake));
        }
        // A snapshot that is too large is none of ours.
        let snapshot = snapshot.filter(|bytes| !is_cpython && bytes.len() <= crate::MAX_SNAPSHOT_BYTES);
        match self.run_from(owner, script, record, snapshot).await {
            // It may be the state that brings the process down, and the code comes to the same without it.
            Err(Error::Crashed { .. } | Error::TooDeep | Error::OutOfMemory { .. }) if snapshot.is_some() => {
                self.run_from(owner, script, record, None).await
            }
            ran => ran,
        }
    }

    async fn run_from(
        &self,
        owner: &str,
        script: &Script,
        record: &Record,
        snapshot: Option<&[u8]>,
    ) -> Result<Progress, Error> {
        let is_cpython = self.shared.cpython.is_some();
        let (script_lent, record_lent) = (Cow::Borrowed(script), Cow::Borrowed(record));
        let most = match is_cpython {
            true => cpython::max_reply_bytes(&script.limits),
            false => frame::MAX_REPLY_BYTES,
        };
        let request = Request { script: script_lent, record: record_lent, awaited: Vec::new(), most };
        let limit = frame::MAX_REQUEST_BYTES;
        let frame = frame::encode(&request, snapshot.unwrap_or_default(), limit)?;
        let what = "code with its record";
        let frame = frame.map_err(|bytes| Error::TooLarge { what, bytes, limit: limit as u64 })?;
        if let Some(mut process) = self.shared.take_kept(owner) {
            match process.run(&frame, &script.limits, most).await {
                Ok(ran) => return Ok(self.shared.keep(process, ran)),
                // It may have ended while it was kept, before it had this request. A run changes nothing outside of its
                // process, so it can be repeated.
                Err(Failure::Gone) => {}
                Err(Failure::Run(error)) => return Err(error),
            }
        }
        let (mut process, _) = self.shared.start(owner, &script.limits).await?;
        match process.run(&frame, &script.limits, most).await {
            Ok(mut ran) if is_cpython => {
                if let Progress::Blocked { snapshot, .. } = &mut ran.progress {
                    // It takes none: this one was made up.
                    *snapshot = None;
                }
                let wrong = cpython::check(&ran.progress, record, &script.limits).err();
                wrong.map_or(Ok(ran.progress), |wrong| Err(Error::Reply(wrong)))
            }
            Ok(ran) => Ok(self.shared.keep(process, ran)),
            Err(Failure::Gone) => Err(process.cause(&script.limits).await),
            Err(Failure::Run(error)) => Err(error),
        }
    }

    /// What runs code here and what confines it, as a process that is started for this says.
    ///
    /// # Errors
    /// [`Error::Start`] and [`Error::Crashed`] if it cannot be started; [`Error::Unconfined`] and [`Error::NoPython`] if
    /// CPython cannot.
    pub async fn interpreter(&self) -> Result<Interpreter, Error> {
        let (_, interpreter) = self.shared.start("", &Limits::default()).await?;
        Ok(interpreter)
    }

    /// The processes that there are now.
    #[must_use]
    pub fn processes(&self) -> Vec<Worker> {
        let alive = self.shared.alive.lock();
        let worker = |(id, owner): (&u32, &String)| Worker { id: *id, owner: owner.clone() };
        alive.iter().map(worker).collect()
    }
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, Vec<Process>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A kept process of this owner.
    fn take_kept(&self, owner: &str) -> Option<Process> {
        let mut kept = self.kept();
        let place = kept.iter().rposition(|process| process.owner() == owner)?;
        Some(kept.remove(place))
    }

    async fn start(&self, owner: &str, limits: &Limits) -> Result<(Process, Interpreter), Error> {
        let Some(cpython) = &self.cpython else {
            return Process::start(&self.command, owner, &self.alive).await;
        };
        let command = cpython.command(&self.command, limits).await?;
        // It ends before it is ready only if there is no sandbox: no code runs without.
        let started = Process::start(&command, owner, &self.alive).await;
        if started.is_err() {
            cpython.forget().await;
        }
        started.map_err(|error| match error {
            Error::Start { why, .. } => cpython::unconfined(&why),
            other => other,
        })
    }

    /// Keeps a process for its owner, unless it is spent, and returns what it ran.
    fn keep(self: &Arc<Self>, process: Process, ran: process::Ran) -> Progress {
        if !ran.spent && self.settings.kept > 0 {
            let mut kept = self.kept();
            kept.push(process);
            let too_many = kept.len().saturating_sub(self.settings.kept);
            kept.drain(..too_many);
            if !self.sweeps.swap(true, Ordering::AcqRel) {
                tokio::spawn(Self::end_old(Arc::downgrade(self), self.settings.kept_for));
            }
        }
        ran.progress
    }

    /// Ends processes that were not used for this long, until none is kept.
    async fn end_old(shared: Weak<Self>, kept_for: Duration) {
        loop {
            tokio::time::sleep(kept_for).await;
            let Some(shared) = shared.upgrade() else { return };
            let mut kept = shared.kept();
            kept.retain(|process| process.unused_for() < kept_for);
            if kept.is_empty() {
                shared.sweeps.store(false, Ordering::Release);
                return;
            }
        }
    }
}
