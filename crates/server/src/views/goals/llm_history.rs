//! What a model has read and answered, as entries of a user and an assistant with blocks.

use entourage_types::{CallId, Item, ItemBody};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An entry of what a model has read and answered.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct HistoryEntry {
    role: HistoryRole,
    content: HistoryContent,
}

/// Whose entry it is: results of tools are the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum HistoryRole {
    User,
    Assistant,
}

/// A text, or blocks.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
enum HistoryContent {
    Text(String),
    Blocks(Vec<HistoryBlock>),
}

/// A text, a call, or what a call returned.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum HistoryBlock {
    Text { text: String },
    ToolUse { id: String, name: String, input: Value },
    ToolResult { tool_use_id: String, content: String },
}

/// The entries of these items: each message, each answer with its calls, and what the calls of one answer returned.
pub(crate) fn llm_history(items: &[Item]) -> Vec<HistoryEntry> {
    let mut entries: Vec<HistoryEntry> = Vec::new();
    let mut is_in_results = false;
    for item in items {
        let was_in_results = std::mem::replace(&mut is_in_results, matches!(item.body, ItemBody::Output(_)));
        match &item.body {
            ItemBody::Message(message) => {
                let content = HistoryContent::Text(message.text.clone());
                entries.push(HistoryEntry { role: HistoryRole::User, content });
            }
            ItemBody::Turn(turn) => {
                let text = HistoryBlock::Text { text: turn.text.clone() };
                let calls = turn.calls.iter().map(|call| HistoryBlock::ToolUse {
                    id: call.id.to_string(),
                    name: call.tool.clone(),
                    input: call.arguments.clone(),
                });
                let blocks = (!turn.text.is_empty()).then_some(text).into_iter().chain(calls).collect();
                entries.push(HistoryEntry {
                    role: HistoryRole::Assistant,
                    content: HistoryContent::Blocks(blocks),
                });
            }
            ItemBody::Output(output) => {
                let result = result_of(output.call, output.text.clone());
                match entries.last_mut().map(|last| &mut last.content) {
                    Some(HistoryContent::Blocks(blocks)) if was_in_results => blocks.push(result),
                    _ => entries.push(HistoryEntry {
                        role: HistoryRole::User,
                        content: HistoryContent::Blocks(vec![result]),
                    }),
                }
            }
            _ => is_in_results = was_in_results,
        }
    }
    entries
}

fn result_of(call: CallId, content: String) -> HistoryBlock {
    HistoryBlock::ToolResult { tool_use_id: call.to_string(), content }
}
