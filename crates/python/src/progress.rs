//! What a run of code comes to.

use serde::{Deserialize, Serialize};

use crate::record::{Call, NewCall};

/// How far a run came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The code ended: with a value, or with an error of Python.
    Ended(Ended),
    /// It cannot go on before some calls have an outcome.
    Blocked {
        /// Calls that are not on record yet, in order: they follow those on record.
        calls: Vec<NewCall>,
        /// What it waits for: it goes on once all calls of any one of these groups have an outcome.
        /// [`crate::Record::serves`] tells.
        awaits: Vec<Vec<u32>>,
        /// The state of the interpreter, from which a later run of the same version can continue. Without it, the code
        /// is run again from its top, with the same result. None if it would be larger than
        /// [`crate::MAX_SNAPSHOT_BYTES`]. As bytes it is no part of what is serialized.
        #[serde(skip)]
        snapshot: Option<Vec<u8>>,
    },
    /// On this run the code asked for something else than is on record. It cannot be continued.
    Diverged {
        /// The number of the call.
        number: u32,
        /// The line of the code that asked, from 1, if it is known.
        line: Option<u32>,
        /// What is on record.
        expected: Call,
        /// What the code asked for, or none if it ended or waits without asking.
        found: Option<Call>,
        /// The error that ended it, if that is how it ended.
        error: Option<Box<PythonError>>,
    },
}

/// Code that ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// What it printed since its top, also on earlier runs; the beginning if it was too long.
    pub stdout: String,
    /// Whether it printed more than is kept, or `value` is longer than is kept.
    pub truncated: bool,
    /// Python's representation of the value of its last expression, none for `None` or after an error.
    pub value: Option<String>,
    /// The error that ended it.
    pub error: Option<PythonError>,
    /// Calls that are not on record yet, which it made since it last waited.
    pub calls: Vec<NewCall>,
    /// The numbers of its forks that it never waited for.
    pub unawaited: Vec<u32>,
}

/// An error of Python that the code did not catch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonError {
    /// Its class, for example `ValueError`.
    pub kind: String,
    /// Its message.
    pub message: String,
    /// The line of the code at which it arose, from 1.
    pub line: Option<u32>,
    /// Python's traceback, with the class and the message at its end.
    pub traceback: String,
    /// What the author of the code should know of this Python to correct it, where that helps.
    pub hint: Option<String>,
}
