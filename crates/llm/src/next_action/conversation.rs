//! The conversation as a weak model reads it: text only, each call as the action that the model chose.

use std::net::Ipv4Addr;

use entourage_types::ToolCall;
use serde_json::json;

use super::form::FINAL;
use crate::{Message, Request};

/// A request is repeated up to so many characters.
const REQUEST: usize = 1_500;

/// Returns the latest user message that was followed by calls, if the last message is a result or a notice. A
/// message that was answered without calls has no result still to come.
pub(super) fn asked(messages: &[Message]) -> Option<String> {
    let last = messages.iter().rfind(|message| !matches!(message, Message::Context(_)));
    if !matches!(last, Some(Message::Output { .. } | Message::Notice(_))) {
        return None;
    }
    let mut has_calls = false;
    for message in messages.iter().rev() {
        match message {
            Message::Assistant { calls, .. } => has_calls |= !calls.is_empty(),
            Message::User(text) if has_calls => return Some(text.chars().take(REQUEST).collect()),
            Message::User(_) | Message::Notice(_) | Message::Context(_) | Message::Output { .. } => {}
        }
    }
    None
}

/// Whether there is an address to open, or a word that may be one. The system prompt and the context also
/// name files and tools, so there only a full URL counts.
pub(super) fn has_address(request: &Request) -> bool {
    request.system.contains("://")
        || request.messages.iter().any(|message| match message {
            Message::User(text) | Message::Notice(text) | Message::Output { text, .. } => {
                text.split_whitespace().any(may_be_address)
            }
            Message::Context(text) => text.contains("://"),
            Message::Assistant { .. } => false,
        })
}

/// Whether a word names a host, ignoring punctuation around it.
fn may_be_address(word: &str) -> bool {
    if word.contains("://") {
        return true;
    }
    let word = word.trim_matches(|char: char| !char.is_alphanumeric());
    let host = word.split(['/', ':', '?', '#']).next().unwrap_or_default();
    let is_name = |(before, last): (&str, &str)| {
        !before.is_empty() && last.chars().count() > 1 && last.chars().all(char::is_alphabetic)
    };
    host.parse::<Ipv4Addr>().is_ok() || host.rsplit_once('.').is_some_and(is_name)
}

/// Returns the conversation without calls and outputs: each call as the action it was, each output as a
/// message after it.
pub(super) fn plain(messages: Vec<Message>, acting: bool) -> Vec<Message> {
    let mut plain = Vec::with_capacity(messages.len());
    let mut open: Vec<ToolCall> = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { text, calls } => {
                if !text.is_empty() {
                    let said = if acting && calls.is_empty() {
                        json!({"action": FINAL, "text": text}).to_string()
                    } else {
                        text
                    };
                    plain.push(says(said));
                }
                open = calls;
            }
            Message::Output { call, tool, text } => {
                if let Some(index) = open.iter().position(|open| open.id.to_string() == call) {
                    let call = open.remove(index);
                    let action = json!({"action": call.tool, "arguments": call.arguments});
                    plain.push(says(action.to_string()));
                }
                plain.push(Message::Notice(format!("Result of {tool}:\n{text}")));
            }
            text @ (Message::User(_) | Message::Notice(_) | Message::Context(_)) => plain.push(text),
        }
    }
    plain
}

fn says(text: String) -> Message {
    Message::Assistant { text, calls: Vec::new() }
}
