//! A piece of an answer under way, beside the events of a tree.

use entourage_types::{AgentId, RunId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// All events so far have been sent; those that follow are new.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CaughtUp {
    /// The number of the last event sent; 0 if there was none.
    pub last: u64,
}

/// A piece of an answer under way. It has no number. A client that connects meanwhile gets the text so far as
/// one piece, and the whole text arrives with its item. The texts of one attempt, each placed at its offset,
/// are the beginning of that text; a higher `attempt` starts over. An offset beyond the text so far means
/// that a piece was missed: wait for the item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Delta {
    /// The agent that answers.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The run.
    #[schema(value_type = schema::RunId)]
    pub run: RunId,
    /// The number that the item will have.
    pub item_seq: u64,
    /// The number of the attempt at the answer. A higher one makes void what earlier attempts streamed;
    /// pieces of a lower one are out of date. The number means nothing on another stream.
    pub attempt: u64,
    /// Where the piece begins, in characters of the text so far.
    pub offset: u64,
    /// The piece.
    #[serde(flatten)]
    pub piece: Piece,
}

/// The content of a piece.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// The answer's text.
    Text(String),
    /// The model's reasoning.
    Reasoning(String),
    /// A call of this tool has begun.
    Call(String),
    /// The attempt failed; what it streamed is void and offsets start over. Always `true`.
    Reset(bool),
}
