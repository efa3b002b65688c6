//! Tools with which an agent reaches others: its user, its peers, and its own later self.

mod ask_user;
mod create_task;
mod final_answer;
mod reactivate_agent;
mod send_message;
mod spawn_agent;
mod wait;

pub use ask_user::{AskUser, AskUserArguments};
pub use create_task::CreateTask;
pub use final_answer::FinalAnswer;
pub use reactivate_agent::ReactivateAgent;
pub use send_message::SendMessage;
pub use spawn_agent::{SpawnAgent, SpawnAgentArguments};
pub use wait::Wait;

use std::sync::Arc;

use entourage_types::Kind;
use schemars::Schema;

use crate::{Error, Result};

/// Returns the kinds with when to use each, one per line.
fn directory(peers: &[Arc<Kind>]) -> String {
    peers.iter().map(|kind| format!("\n- {}: {}", kind.name, kind.description)).collect()
}

/// Removes what the doc comment of an argument type says: it is for programs, and a model reads the tool's description.
pub(crate) fn undescribed(schema: &mut Schema) {
    schema.remove("description");
}

/// Returns the text, or an error if it is blank.
pub(crate) fn filled(tool: &str, argument: &str, text: String) -> Result<String> {
    if text.trim().is_empty() {
        return Err(Error::Arguments { tool: tool.to_owned(), why: format!("`{argument}` is empty") });
    }
    Ok(text)
}
