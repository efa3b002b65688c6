//! The pieces of answers in progress, as subscribers and other nodes get them.

use entourage_types::{AgentId, RunId};
use serde::{Deserialize, Serialize};

/// A piece of an answer in progress.
///
/// The texts of one attempt, each put at its offset, are the beginning of the text that is committed in the
/// end, unless a later attempt replaces it, which begins again. A subscriber that missed a piece gets an
/// offset beyond the text that it has, and waits for the item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDelta {
    /// The agent that answers.
    pub agent: AgentId,
    /// The run of the answer.
    pub run: RunId,
    /// The number that the item will have.
    pub item_seq: u64,
    /// The number of the attempt at the answer. A higher one voids what the attempts before it streamed, also
    /// after a restart; pieces of a lower one come too late.
    pub attempt: u64,
    /// Where the piece begins, in characters of the text so far.
    pub offset: u64,
    /// The piece.
    pub piece: Piece,
}

/// The content of a piece.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// The answer's text.
    Text(String),
    /// The model's reasoning.
    Reasoning(String),
    /// A call has begun.
    Call(String),
    /// The attempt failed; what it streamed is void, and offsets start again.
    Reset,
}
