//! The documents of the chats API, which shows the engine as an orchestrator with sub-agents, with the fields
//! and terms of that design. Each document is rendered from rows of the engine on request; none is stored.

mod chat;
mod message;
mod sub_agent;
mod sub_agent_message;
mod task;
mod tool_call;
mod tree_index;

use entourage_types::tool_names::{ASK_USER, FINAL_ANSWER};

pub(crate) use chat::ChatView;
pub(crate) use message::{ChatDeltaView, ChatMessageView, sent_at};
pub(crate) use sub_agent::SubAgentView;
pub(crate) use sub_agent_message::{SubAgentMessageView, documents};
pub(crate) use task::{ChatTaskView, TaskStatus};
pub(crate) use tool_call::{ToolCallDocument, tool_calls};
pub(crate) use tree_index::TreeIndex;

/// Whether a call of the tool is work: neither a question to the user nor the final answer, whose texts are shown as
/// messages, not as calls.
fn is_work(tool: &str) -> bool {
    tool != ASK_USER && tool != FINAL_ANSWER
}

/// The document id of a transcript's item.
fn of_item(agent: entourage_types::AgentId, seq: u64) -> String {
    format!("{agent}.{seq}")
}
