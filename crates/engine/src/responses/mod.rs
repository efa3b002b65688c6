//! Answers to messages in a chat: followed while they are produced, and complete, with the runs of other
//! agents that worked for them.

mod act;
mod follow;
mod hang_up;
mod item;
mod pieces;
mod respond;
mod result;

use entourage_types::{Agent, Question};
use serde::Serialize;

pub use follow::Follow;
pub use item::{
    MessageInputItem, MessageOutputItem, NoticeItem, Origin, RunItem, ToolCallItem, ToolCallOutputItem,
};
pub use result::{NestedRun, RunError, RunResult};

use crate::thread::USER;

/// Something that happened on the way to an answer.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum StreamEvent {
    /// A new item in a thread: of the agent that was asked, or of one that works for it.
    Item(RunItem),
    /// A piece of an answer in progress; the complete answer arrives as an item.
    Text {
        /// Where the answer comes from.
        origin: Origin,
        /// The piece.
        text: String,
    },
    /// The pieces since the last item of this thread are void: the model is asked again.
    Void {
        /// Where the answer comes from.
        origin: Origin,
    },
    /// A person must answer before the run goes on: see [`Client::answer`](crate::Client::answer).
    Question(Box<Question>),
    /// The run has answered. Nothing follows.
    Done(Box<RunResult>),
    /// The run has no answer, and [`RunResult::error`] says why. Nothing follows.
    Error(Box<RunResult>),
}

/// The sender of a thread: the part of its key after the recipient. The sender of an agent that was spawned
/// for a piece of work is its parent; that of one that a person put below another is the person.
#[must_use]
pub fn sender_of(thread: &Agent) -> String {
    let sender = thread.key.as_ref().map(|key| key.sender.clone());
    let parent = thread.parent.filter(|_| !thread.works_for.is_person());
    sender.or_else(|| parent.map(|parent| parent.to_string())).unwrap_or_else(|| USER.to_owned())
}
