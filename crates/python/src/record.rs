//! What code asks of the engine, and what came of it: the part of a run of code that is stored.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A call that code makes of the engine, as it is recorded.
///
/// `wait` is none: it asks for nothing, and waits for the outcome of a [`Call::Fork`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "call")]
pub enum Call {
    /// Give a prompt to an agent of its own. Its outcome is that agent's last text.
    Fork {
        /// What the agent is to do.
        prompt: String,
        /// The name of its kind; the engine chooses if there is none.
        kind: Option<String>,
    },
    /// Ask a person. Its outcome is the answer, or null if they declined.
    AskUser {
        /// The question.
        text: String,
    },
    /// Tell whoever follows the agent something. The code does not wait for it, so it needs no outcome.
    Emit {
        /// What to tell.
        text: String,
    },
    /// Call a tool. Its outcome is the tool's output.
    Tool {
        /// The name of the tool.
        name: String,
        /// Its arguments, by name.
        arguments: Map<String, Value>,
    },
}

impl Call {
    /// Whether code that runs again may make the other call in place of this one: what it reports may tell the time.
    pub(crate) fn is_repeated_by(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Emit { .. }, Self::Emit { .. })) || self == other
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What the code gets as a value: a text as `str`, null as `None`, lists and objects as lists and dicts.
    Value(Value),
    /// What the code gets as a `RuntimeError` with this text, which it may catch.
    Failed(String),
}

/// What is on record of the calls of one script: all that a run of it depends on beside the script.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The calls, in the order in which the code made them. A call's number is its place here, from 0.
    pub calls: Vec<Call>,
    /// The number of a call and what came of it, in the order in which outcomes arrived. The code gets them in this
    /// order, so a later run with more of them takes the same way through the code.
    pub outcomes: Vec<(u32, Outcome)>,
}

impl Record {
    /// Whether code that waits for `awaits` (as [`crate::Progress::Blocked`] has it) would go on with this record.
    #[must_use]
    pub fn serves(&self, awaits: &[Vec<u32>]) -> bool {
        let has = |number: &u32| self.outcomes.iter().any(|(with, _)| with == number);
        awaits.iter().any(|group| group.iter().all(has))
    }

    /// The first thing that is wrong with this record, if anything is.
    pub(crate) fn mistake(&self) -> Option<String> {
        let mut seen = std::collections::BTreeSet::new();
        for (number, _) in &self.outcomes {
            if *number as usize >= self.calls.len() {
                return Some(format!(
                    "there is an outcome of call {number}, but there are only {} calls",
                    self.calls.len()
                ));
            }
            if !seen.insert(*number) {
                return Some(format!("call {number} has two outcomes"));
            }
        }
        None
    }
}

/// A call that is not on record yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewCall {
    /// What the code asks for.
    pub call: Call,
    /// The line of the code that asks, from 1. None where the function was called under another name, for example
    /// `f = fork`.
    pub line: Option<u32>,
}
