//! Calls that the code of a call makes: a tool that runs code gives them in its outcome, the engine makes them like
//! those of a model, and calls the tool again with what is on record of them.

use entourage_types::{Output, ToolCall};
use serde_json::Value;

/// What code does before it waits: the outcome of a call whose code goes on later.
///
/// The engine makes the calls, each once, with its intents, approvals, questions and tasks. As soon as those that the
/// code waits for have their outputs, it calls the tool again, with all that is on record: the tool runs the code from
/// its top, which comes to the same calls, and goes on behind them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CodeCalls {
    /// The new calls. The first of them has the number that follows those on record.
    pub calls: Vec<SubCall>,
    /// The numbers of the calls that the code waits for, in groups: it goes on once all calls of one of them have their
    /// outputs. At least one group, and none of which the tool was given all outputs.
    pub awaits: Vec<Vec<usize>>,
    /// The state from which the code can go on: the tool gets it with the record. It is a cache, which may be lost.
    pub snapshot: Option<Vec<u8>>,
}

impl CodeCalls {
    /// The most calls that the code of one call may make.
    pub const MOST: u16 = 1_000;

    /// The most numbers that its groups may have together.
    pub const MOST_AWAITED: usize = 10_000;
}

/// A call that code makes.
#[derive(Debug, Clone, PartialEq)]
pub struct SubCall {
    /// The name of the tool: one that the kind lists, or one that comes with the tool that runs the code.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
}

/// What is on record of the calls that the code of a call has made. Empty when the call is made for the first time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubCallRecord {
    /// The calls, in the order in which the code made them; a call's number is its index.
    pub calls: Vec<ToolCall>,
    /// Their outputs so far, each with the number of its call, in the order in which they came. Code that is given them
    /// one after the other in this order, and only when it can go on in no other way, takes the same way each time,
    /// however many there are.
    pub outputs: Vec<(usize, Output)>,
    /// The state that the code had when it last waited, if the tool gave one.
    pub snapshot: Option<Vec<u8>>,
    /// How often the code could not be run since then: the tool was [unavailable](crate::Error::Unavailable) or its
    /// process [killed](crate::Error::Killed).
    pub failures: u32,
    /// How many of these were kills.
    pub kills: u32,
}

impl SubCallRecord {
    /// The output of the call with this number, if it has one.
    #[must_use]
    pub fn output(&self, number: usize) -> Option<&Output> {
        self.outputs.iter().find(|(of, _)| *of == number).map(|(_, output)| output)
    }
}
