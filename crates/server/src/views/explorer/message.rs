//! What was said in an exploration, as the AI SDK's messages (`CoreMessage` of its version 4).

use entourage_engine::{Client, ItemQuery, Result};
use entourage_types::{Agent, Item, ItemBody, Output, Turn};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::page::BYTES;

/// How many items are read at once.
const ITEMS: u32 = 1_000;

/// A message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum ExplorerMessage {
    /// What the person said, or another agent.
    User {
        /// Their words.
        content: String,
    },
    /// What the agent said, and which tools it called.
    Assistant {
        /// The parts, in their order.
        content: Vec<AssistantPart>,
    },
    /// What a tool returned.
    Tool {
        /// One result.
        content: Vec<ToolResult>,
    },
    /// What the engine told the agent.
    System {
        /// Its words.
        content: String,
    },
}

/// A part of what an agent said.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum AssistantPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A call of a tool.
    ToolCall {
        /// The call.
        #[serde(rename = "toolCallId")]
        tool_call_id: String,
        /// The tool.
        #[serde(rename = "toolName")]
        tool_name: String,
        /// Its arguments.
        args: Value,
    },
}

/// What a tool returned.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename = "tool-result", rename_all = "camelCase")]
pub(crate) struct ToolResult {
    /// The call.
    tool_call_id: String,
    /// The tool.
    tool_name: String,
    /// What it returned.
    result: String,
    /// Whether it failed.
    is_error: bool,
}

/// All that was said to and by an agent, oldest first.
pub(crate) async fn messages(client: &Client, agent: &Agent) -> Result<Vec<ExplorerMessage>> {
    let (mut messages, mut from) = (Vec::new(), 0);
    loop {
        let page = ItemQuery { bytes: BYTES, ..ItemQuery::of(agent.id, from, ITEMS) };
        let items = client.transcript_part(page).await?;
        let Some(last) = items.last() else { return Ok(messages) };
        from = last.seq + 1;
        messages.extend(items.into_iter().filter_map(message));
    }
}

fn message(item: Item) -> Option<ExplorerMessage> {
    Some(match item.body {
        ItemBody::Message(message) => ExplorerMessage::User { content: message.text },
        ItemBody::Turn(Turn { text, calls, .. }) => {
            let said = Some(AssistantPart::Text { text: text.clone() }).filter(|_| !text.is_empty());
            let called = calls.into_iter().map(|call| AssistantPart::ToolCall {
                tool_call_id: call.id.to_string(),
                tool_name: call.tool,
                args: call.arguments,
            });
            ExplorerMessage::Assistant { content: said.into_iter().chain(called).collect() }
        }
        ItemBody::Output(Output { call, tool, text, error, .. }) => ExplorerMessage::Tool {
            content: vec![ToolResult {
                tool_call_id: call.to_string(),
                tool_name: tool,
                result: text,
                is_error: error,
            }],
        },
        ItemBody::Notice(notice) => ExplorerMessage::System { content: notice.text },
        // What it was to know beside the conversation, and what it decided, are no messages.
        ItemBody::Context(_) | ItemBody::Decision(_) | ItemBody::Digest(_) => return None,
    })
}
