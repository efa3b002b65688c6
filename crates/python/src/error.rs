//! Why a run of code came to nothing.

use std::time::Duration;

/// Why a run of code came to nothing: neither progress nor an error of Python. The texts tell the author of the code
/// what to change, where that is the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The record contradicts itself.
    #[error("the record of the code's calls contradicts itself: {0}")]
    Record(String),
    /// The code, its record, or what it came to is too large to hand over.
    #[error("{what} of {bytes} bytes is more than the {limit} that can be handed over: use less text")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size in bytes.
        bytes: u64,
        /// What there may be, in bytes.
        limit: u64,
    },
    /// The process used more memory than the limit and was ended before Python could report it.
    #[error("the code used more than {limit_bytes} bytes of memory: work on less at a time")]
    OutOfMemory {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// The process took longer than its limit and was ended before Python could report it.
    #[error("the code ran for longer than {limit:?}: do less, or split the work")]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// Calls of functions or brackets are nested so deeply that the process could not go on.
    #[error(
        "the code is nested too deeply, or a library crashed: use loops for recursion, and shorter expressions"
    )]
    TooDeep,
    /// The process ended without a reply.
    #[error("the process of the code ended unexpectedly ({status}){said}: change the code, or do without it")]
    Crashed {
        /// How it ended, in the system's words.
        status: String,
        /// What it wrote before, after a colon; empty if nothing.
        said: String,
    },
    /// Something else ended the process: the system, as it does when memory runs out, or who stops this program.
    #[error(
        "the process of the code was killed (signal {signal}): work on less at a time if it happens again"
    )]
    Killed {
        /// By which signal.
        signal: i32,
    },
    /// The process could not be started.
    #[error("the process for code cannot be started: {why}")]
    Start {
        /// What was to be started, for the operator.
        program: String,
        /// Why it was not.
        why: String,
    },
    /// CPython cannot be confined here, so it does not run.
    #[error("CPython cannot be confined by bubblewrap here: {why}; {remedy}")]
    Unconfined {
        /// Why, in bubblewrap's words where it said something.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The operator's CPython, or its packages, cannot be used.
    #[error("CPython cannot be used: {why}")]
    NoPython {
        /// Why, and what to do.
        why: String,
    },
    /// What the process replied is no reply.
    #[error("the process of the code replied with something else than a reply: {0}")]
    Reply(String),
    /// Reading from or writing to the process failed.
    #[error("the exchange with the process of the code failed: {0}")]
    Io(#[from] std::io::Error),
}

impl Error {
    /// Whether the machine is at fault and not the code, which comes to something once the machine is well.
    #[must_use]
    pub const fn is_of_machine(&self) -> bool {
        match self {
            Self::Killed { .. }
            | Self::Start { .. }
            | Self::Unconfined { .. }
            | Self::NoPython { .. }
            | Self::Io(_) => true,
            Self::Record(_)
            | Self::TooLarge { .. }
            | Self::OutOfMemory { .. }
            | Self::TimedOut { .. }
            | Self::TooDeep
            | Self::Crashed { .. }
            | Self::Reply(_) => false,
        }
    }
}
