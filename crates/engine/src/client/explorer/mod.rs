//! Explorations as their users see them: a tree of agents by the names that callers gave, and its stream (S3).

mod chunk;
mod in_progress;
mod outcome;
mod position;
mod render;
mod stream;

pub use chunk::{Chunk, FinishReason, NoData, Response, ResultMetadata, Subagent, TokenUsage};
pub use outcome::SubagentResult;
pub use position::Position;
pub use stream::{AgentNames, ExplorerStream};
