//! Agents that message agents, as a library: define them, say who may write to whom, and talk to them.
//! Every thread is on disk with each step; nothing here runs a loop of its own.
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
//! [`Agency`] puts agents together and passes messages on; [`Agent`] is called for one answer or a
//! stream of [`RunItem`]s; [`ThreadManager`] shows what was said in which thread.

mod agent;
mod ask;
mod casting;
mod chart;
mod closable;
mod function_tool;
mod guardrail;
mod home;
mod open;
mod stream;
mod thread;

pub use agent::{Agent, AgentBuilder};
pub use ask::{Ask, Streamed, Text, Whole};
pub use casting::ModelChoice;
pub use entourage_engine::{
    Check, Checked, KeeperError, Side, ThreadKeeper,
    responses::{
        MessageInputItem, MessageOutputItem, NestedRun, NoticeItem, Origin, RunError, RunItem, RunResult,
        StreamEvent, ToolCallItem, ToolCallOutputItem,
    },
};
pub use entourage_types::ThreadKey;
pub use function_tool::{FunctionTool, IntoOutcome, Json, function_tool};
pub use guardrail::Guardrail;
pub use home::Agency;
pub use open::AgencyBuilder;
pub use stream::RunStream;
pub use thread::{ConversationThread, ThreadManager};
