//! Agents that message agents, as a library: define them, say which may write to which, and talk to them.
//! Every step of every thread is on disk; the engine runs the agents, and there is no second loop here.
//!
//! ```no_run
//! # async fn example() -> entourage::Result<()> {
//! use entourage::agency::{Agency, Agent};
//!
//! let ceo = Agent::builder("Ceo").instructions("You lead. Have the work done.").build()?;
//! let developer = Agent::builder("Developer").instructions("You write Rust.").build()?;
//! let agency = Agency::new([&ceo], [(&ceo, &developer)]).database("agency.db").open().await?;
//! let result = agency.get_response("Write a greeting.").chat_id("first").await?;
//! println!("{}", result.final_output.unwrap_or_default());
//! # Ok(()) }
//! ```
//!
//! [`Agency`] groups agents and passes messages on; [`Agent`] is called for one answer or for a stream of
//! [`RunItem`]s; [`ThreadManager`] reads the messages of a thread.

mod agent;
mod ask;
mod chart;
mod function_tool;
mod guardrail;
mod models;
mod open;
mod parts;
mod stream;
mod thread;

pub use agent::{Agent, AgentBuilder};
pub use ask::{Ask, Streamed, Text, Whole};
pub use entourage_engine::{
    GuardrailInput, Side, ThreadStore, ThreadStoreError,
    responses::{
        MessageInputItem, MessageOutputItem, NestedRun, NoticeItem, Origin, RunError, RunItem, RunResult,
        StreamEvent, ToolCallItem, ToolCallOutputItem,
    },
};
pub use entourage_types::ThreadKey;
pub use function_tool::{FunctionTool, IntoOutcome, Json, function_tool};
pub use guardrail::Guardrail;
pub use models::ModelChoice;
pub use open::AgencyBuilder;
pub use parts::Agency;
pub use stream::RunStream;
pub use thread::{ConversationThread, ThreadManager};
