//! The result of a tool. Tools return outcomes; the engine commits them.

use std::time::Duration;

use entourage_types::{AgentId, OnEnd, QuestionId, Record, RecordWrite};
use serde_json::Value;

use crate::{CodeCalls, DocumentEdit, Error, Result};

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The call is complete.
    Done(Done),
    /// A person must answer; the call stays open until then.
    Ask(Ask),
    /// Another agent must do something.
    Delegate(Delegate),
    /// The call stays open until this much time has passed.
    Await(Duration),
    /// The call's code makes calls of its own, and goes on once one of those that it waits for has its output.
    Calls(CodeCalls),
}

/// The result of a completed call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// The text for the model.
    pub text: String,
    /// Additional data for a user interface.
    pub details: Option<Value>,
    /// Records to store, new or changed, in the same commit as the output: of the caller's owner, in the
    /// caller's tree or in none, and of nouns that tools may write ([`EntityKind::is_reserved`] tells).
    ///
    /// [`EntityKind::is_reserved`]: entourage_types::EntityKind::is_reserved
    pub records: Vec<RecordWrite>,
    /// What the call does to a document of the caller's owner, in the same commit: the engine gives the number and
    /// the version. If it cannot be done by then, nothing is stored, and the call has an error as its output.
    pub document: Option<DocumentEdit>,
    /// The message to the user: makes a conversational kind stop after this turn.
    pub said: Option<String>,
    /// The answer of the run, which ends after this turn.
    pub answer: Option<String>,
    /// Texts for those who watch the run; no model reads them.
    pub progress: Vec<String>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The question.
    pub text: String,
    /// Suggested answers.
    pub options: Vec<String>,
}

/// Work for another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegate {
    /// The recipient.
    pub to: Target,
    /// The task.
    pub text: String,
    /// What the end of the work does: whether the call waits for the result, or returns the task's id at once.
    pub on_end: OnEnd,
}

/// The agent that gets the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The caller's own agent of this kind, spawned at the first message.
    Peer(String),
    /// A new agent of this kind.
    New {
        /// The kind.
        kind: String,
        /// Its purpose, in a few words.
        title: String,
    },
    /// A new agent of the caller's own kind.
    Same {
        /// Its purpose, in a few words.
        title: String,
    },
    /// An agent that the caller spawned before: it resumes its task, or receives the text as the answer to
    /// its question.
    Child {
        /// The agent.
        agent: AgentId,
        /// The question that the text answers, of the agent or of one below it: required if several are open.
        question: Option<QuestionId>,
    },
}

impl Done {
    /// Adds a record to store.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    pub fn with(mut self, record: &impl Record) -> Result<Self> {
        self.records.push(stored(record)?);
        Ok(self)
    }

    /// Adds a record to store that must still have this version, with which it was read; 0 if it is to be new. If
    /// it was written since, nothing is stored, and the call has an error as its output.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    pub fn with_version(mut self, record: &impl Record, version: u64) -> Result<Self> {
        self.records.push(stored(record)?.at_version(version));
        Ok(self)
    }
}

fn stored(record: &impl Record) -> Result<RecordWrite> {
    RecordWrite::of(record).map_err(|error| Error::Failed(format!("it cannot be stored: {error}")))
}

impl Outcome {
    /// Creates the outcome of a completed call with this text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Done(Done { text: text.into(), ..Done::default() })
    }
}
