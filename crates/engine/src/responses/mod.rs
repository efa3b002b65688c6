//! Answers to what was said in a chat: followed as they come about, whole, with the runs of others that
//! worked for them.

mod follow;
mod hang_up;
mod item;
mod result;

use entourage_types::{Agent, Question};
use serde::Serialize;

pub use follow::Follow;
pub use item::{
    MessageInputItem, MessageOutputItem, NoticeItem, Origin, RunItem, ToolCallItem, ToolCallOutputItem,
};
pub use result::{NestedRun, RunError, RunResult};

use crate::thread::{USER, named};

/// Something that happened on the way to an answer.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum StreamEvent {
    /// An item joined a thread: of the agent that was asked, or of one that works for it.
    Item(RunItem),
    /// A piece of an answer under way; it arrives whole as an item.
    Text {
        /// Whose.
        origin: Origin,
        /// The piece.
        text: String,
    },
    /// The pieces since the last item of this thread are void: the model is asked again.
    Void {
        /// Whose.
        origin: Origin,
    },
    /// Somebody must answer before it goes on: see [`Client::answer`](crate::Client::answer).
    Question(Box<Question>),
    /// The answer is there. Nothing follows.
    Done(Box<RunResult>),
    /// There is none, and [`RunResult::error`] says why. Nothing follows.
    Error(Box<RunResult>),
}

/// Who writes in a thread: what stands behind the recipient in the key that it is found by. One that
/// was made for a piece of work is its maker's.
#[must_use]
pub fn sender_of(thread: &Agent) -> String {
    let sender = named(thread).map(|named| named.sender.to_owned());
    sender.or_else(|| thread.parent.map(|parent| parent.to_string())).unwrap_or_else(|| USER.to_owned())
}
