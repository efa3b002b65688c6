//! What was said in an exploration, as the AI SDK's messages (`CoreMessage` of its version 4).

use std::collections::{HashMap, hash_map::Entry};

use entourage_api::schema;
use entourage_engine::{Client, ItemQuery, Result};
use entourage_types::{Agent, AgentId, AgentState, Author, Item, ItemBody, Message, Output, Turn, Unread};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// How much of a transcript is shown, in bytes, and in items.
const MOST_BYTES: usize = 4 << 20;
const MOST_ITEMS: u32 = 10_000;

/// A message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum ExplorerMessage {
    /// What the person said.
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
    /// What the engine or another agent told the agent.
    System {
        /// The words.
        content: String,
        /// The agent whose words these are; left out of what the engine told.
        #[serde(rename = "agentId", skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        /// How the work of that agent ended, if it is its result.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::AgentState>)]
        status: Option<AgentState>,
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

/// What was said to and by an agent, oldest first, and how many items of its transcript come before that: only the last
/// of a long one is shown.
pub(crate) async fn messages(client: &Client, agent: &Agent) -> Result<(Vec<ExplorerMessage>, u64)> {
    let last =
        ItemQuery { before: Some(agent.items), bytes: MOST_BYTES, ..ItemQuery::of(agent.id, 0, MOST_ITEMS) };
    let items = client.transcript_part(last).await?;
    let left_out = items.first().map_or(agent.items, |first| first.seq);
    let mut names = HashMap::new();
    for item in &items {
        if let ItemBody::Message(Message { from: Author::Agent { id, .. }, .. }) = &item.body
            && let Entry::Vacant(place) = names.entry(*id)
        {
            place.insert(client.agent_name(*id).await?);
        }
    }
    Ok((items.into_iter().filter_map(|item| message(item, &names)).collect(), left_out))
}

fn message(item: Item, names: &HashMap<AgentId, String>) -> Option<ExplorerMessage> {
    Some(match item.body {
        ItemBody::Message(Message { from: Author::User, text, .. }) => {
            ExplorerMessage::User { content: text }
        }
        ItemBody::Message(Message { from: Author::Agent { id, .. }, text, ended, .. }) => {
            ExplorerMessage::System {
                content: text,
                agent_id: names.get(&id).cloned(),
                status: ended.map(|ended| AgentState::of(ended, None, Unread::Nothing)),
            }
        }
        ItemBody::Message(Message { from: Author::Trigger { .. }, text, .. }) => of_engine(text),
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
        ItemBody::Notice(notice) => of_engine(notice.text),
        // What it was to know beside the conversation, what it decided and what its code did are no messages.
        ItemBody::Context(_)
        | ItemBody::Decision(_)
        | ItemBody::Digest(_)
        | ItemBody::SubCalls(_)
        | ItemBody::SubOutput(_) => return None,
    })
}

/// What the engine told the agent.
const fn of_engine(content: String) -> ExplorerMessage {
    ExplorerMessage::System { content, agent_id: None, status: None }
}
