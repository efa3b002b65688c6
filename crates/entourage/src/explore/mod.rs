//! Explorations, as a library: an agent works on one question in six steps. It clarifies, asks the user for what is
//! missing, has parts of the question explored side by side, and sums up.
//!
//! ```no_run
//! # async fn example() -> entourage::Result<()> {
//! use entourage::explore::{Chunk, Explorer};
//!
//! let explorer = Explorer::builder()
//!     .database("explorer.db")
//!     .query_user_handler(|_agent_id, _prompt| async { Some("whatever is usual".to_owned()) })
//!     .open()
//!     .await?;
//! let mut stream = explorer.agent("Which crates parse dates?").await?;
//! while let Some(chunk) = stream.next().await {
//!     if let Chunk::TextDelta { agent_id, text_delta } = chunk? {
//!         println!("{agent_id}: {text_delta}");
//!     }
//! }
//! println!("{}", stream.result().await?);
//! # Ok(()) }
//! ```
//!
//! An [`Explorer`] starts agents, shows the tree of those that are active, and puts what they ask to the program. An
//! agent works whether or not anybody reads its stream, and goes on after a restart.

mod ask;
mod explorer;
mod handler;
mod open;
mod questions;
mod stream;

pub use ask::NewAgentCall;
pub use entourage_engine::{
    EarlierMessage, ExplorationInput, Overrides, Speaker,
    explorer::{ActiveAgent, Arguments, Chunk, FinishReason, Response, ResultMetadata, Subagent, TokenUsage},
};
pub use entourage_types::{AgentState, Item, ItemBody};
pub use explorer::{AgentWithMessages, Explorer};
pub use handler::{QueryAnswer, WithoutHandler};
pub use open::ExplorerBuilder;
pub use stream::AgentStream;
