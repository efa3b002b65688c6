//! Explorations as S3 knows them: agents with names, a tree of those that are active, overrides and answers, and the
//! stream of one.

mod active;
mod answer;
mod chunk;
mod in_progress;
mod names;
mod outcome;
mod overrides;
mod position;
mod render;
mod start;
mod stream;
mod token;

pub use active::{ActiveAgent, ActiveNode, ActiveTree};
pub use chunk::{Arguments, Chunk, FinishReason, NoData, Response, ResultMetadata, Subagent, TokenUsage};
pub use outcome::SubagentResult;
pub use overrides::Overrides;
pub use position::Position;
pub use start::{EarlierMessage, ExplorationInput, NewExploration, Speaker};
pub use stream::ExplorerStream;
