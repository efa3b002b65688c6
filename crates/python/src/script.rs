//! The code, and the limits within which it runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Code and its limits. Together they are what a record belongs to: with other code, or under other limits, a run may
/// ask for something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The code, as the model wrote it.
    pub code: String,
    /// Its limits.
    pub limits: Limits,
    /// For how long the code must have run before the state in which it waits is worth a snapshot; none if it has none.
    /// What the code does is the same.
    pub snapshot_after: Option<Duration>,
}

impl Script {
    /// Code under the default limits.
    #[must_use]
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), limits: Limits::default(), snapshot_after: Some(Duration::ZERO) }
    }
}

/// What code may use. A limit that is reached is an error of Python where the code can still be told, and otherwise
/// ends its process, which is an [`crate::Error`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long the code may compute, from its top to its end, however often it waited in between.
    pub cpu: Duration,
    /// How long one run in a process may take in all, until it ends or waits. The process is killed after it.
    pub wall: Duration,
    /// Bytes that the code's objects may take. Only a process of its own can enforce it: in [`crate::run`] no more than
    /// single large objects are refused.
    pub memory_bytes: u64,
    /// Bytes of what it prints that are kept, from the beginning, and of the value of its last expression.
    pub output_bytes: usize,
    /// How deep functions may call each other.
    pub recursion: usize,
    /// How many calls of the engine it may make.
    pub calls: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_secs(10),
            wall: Duration::from_secs(30),
            memory_bytes: 128 << 20,
            output_bytes: 64 << 10,
            recursion: 500,
            calls: 200,
        }
    }
}
