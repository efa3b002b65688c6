//! How a worker process confines itself.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod system_calls;

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use linux::{Process, limit_memory, limit_run};

#[cfg(not(target_os = "linux"))]
pub(crate) use other::{Process, limit_run};

/// Bytes that the process may take beyond what the code's objects may: the interpreter, a snapshot, a reply.
pub(crate) const SLACK_BYTES: u64 = 96 << 20;

/// How a worker process is confined: what it was able to apply to itself. The interpreter has no access to the system
/// by itself; this is what holds if it has a mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// No files and no TCP, by Landlock.
    pub landlock: Measure,
    /// No system calls but those for memory, time and its pipes, by seccomp.
    pub seccomp: Measure,
    /// Limits of the system: processor time, memory, no writing to files, no core files, no new processes.
    pub limits: Measure,
    /// Memory is measured while code runs, so that Python can report that it is used up.
    pub memory: Measure,
}

/// What runs code here, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interpreter {
    /// The built-in one, whose process is confined like this.
    BuiltIn(Confinement),
    /// CPython, which runs under bubblewrap or not at all.
    CPython {
        /// Its version.
        version: String,
    },
}

impl Interpreter {
    /// Whether all that confines it is in force.
    #[must_use]
    pub fn is_confined(&self) -> bool {
        match self {
            Self::BuiltIn(confinement) => confinement.is_whole(),
            Self::CPython { .. } => true,
        }
    }
}

/// Whether a measure is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measure {
    /// It is.
    Full,
    /// A part of it is, or nothing: why.
    Lacking(String),
}

/// Confines this process for good, as [`crate::worker_main`] does before it runs code, and says what was applied.
///
/// From then on the process can open nothing and start nothing, threads included.
pub fn confine() -> Confinement {
    let (_, mut confinement) = Process::begin();
    Process::finish(&mut confinement);
    confinement
}

impl Confinement {
    /// Whether all of it is in force.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        [&self.landlock, &self.seccomp, &self.limits, &self.memory]
            .into_iter()
            .all(|part| *part == Measure::Full)
    }
}

impl Measure {
    #[cfg(target_os = "linux")]
    fn of<T, E: fmt::Display>(result: Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Full,
            Err(error) => Self::Lacking(error.to_string()),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("yes"),
            Self::Lacking(why) => write!(f, "no ({why})"),
        }
    }
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(confinement) => confinement.fmt(f),
            Self::CPython { version } => write!(f, "CPython {version} under bubblewrap"),
        }
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { landlock, seccomp, limits, memory } = self;
        write!(f, "landlock: {landlock}; seccomp: {seccomp}; limits: {limits}; memory: {memory}")
    }
}
