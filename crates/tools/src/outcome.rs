//! What a tool returned. Tools return outcomes; the engine commits them.

use std::time::Duration;

use entourage_types::{AgentId, Learning, Note, QuestionId};
use serde_json::Value;

/// What a tool returned.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done.
    Done(Done),
    /// A person must answer; the call stays open until then.
    Ask(Ask),
    /// Another agent shall do something.
    Delegate(Delegate),
    /// The call stays open until this much time has passed.
    Await(Duration),
}

/// The result of a call that is done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// What the model reads.
    pub text: String,
    /// What a screen may show beside it.
    pub details: Option<Value>,
    /// Notes to keep, in the same commit as the output.
    pub notes: Vec<Note>,
    /// Learnings, new or changed, in the same commit as the output.
    pub learnings: Vec<Learning>,
    /// What the user is told: makes a conversational kind stop after this turn.
    pub said: Option<String>,
    /// The answer of the run: ends it after this turn.
    pub answer: Option<String>,
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
    /// Which agent.
    pub to: Target,
    /// What it shall do.
    pub text: String,
    /// Whether the call stays open until the result is in; otherwise it returns the task's id and
    /// the result arrives later as a message.
    pub wait: bool,
}

/// Which agent work goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The caller's own agent of this kind: found, or made at the first message.
    Peer(String),
    /// A new agent of this kind.
    New {
        /// The kind.
        kind: String,
        /// What it is for, in a few words.
        title: String,
    },
    /// An agent that the caller made before: it takes its task up again, or reads this as an answer
    /// to its question.
    Child {
        /// Which.
        agent: AgentId,
        /// The question that this answers, of the agent or of one below it: needed where several are open.
        question: Option<QuestionId>,
    },
}

impl Outcome {
    /// A call that is done, with this text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Done(Done { text: text.into(), ..Done::default() })
    }
}
