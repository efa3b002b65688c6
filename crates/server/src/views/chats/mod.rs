//! The engine as an orchestrator with sub-agents: the documents, fields and words of that design.
//! Each is told from rows of the engine when it is asked for; nothing is kept of them.

mod chat;
mod family;
mod message;
mod sub_agent;
mod sub_agent_message;
mod task;
mod tool_call;

pub(crate) use chat::ChatView;
pub(crate) use family::Family;
pub(crate) use message::{ChatDeltaView, ChatMessageView};
pub(crate) use sub_agent::SubAgentView;
pub(crate) use sub_agent_message::{SubAgentMessageView, documents};
pub(crate) use task::{ChatTaskView, TaskStatus};
pub(crate) use tool_call::{ToolCallDocument, tool_calls};

/// The tool by which a sub-agent asks, and the one by which it ends with an answer: what they say
/// are messages, not calls.
const ASKS: &str = "ask_user";
const ANSWERS: &str = "final_answer";

/// The id of the document that an item of a transcript is.
fn of_item(agent: entourage_types::AgentId, seq: u64) -> String {
    format!("{agent}.{seq}")
}
