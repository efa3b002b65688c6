//! Detects futile calls: a weak model would repeat the same call again and again.

use entourage_types::{ToolCall, ToolSpec};
use serde_json::Value;

use crate::Message;

/// The calls since the user's last message that were made before with the same result, or twice before with
/// any.
#[derive(Debug, Default)]
pub(super) struct RepeatedCalls<'m> {
    count: usize,
    /// The tool of the latest call, if that was futile.
    latest: Option<&'m str>,
}

impl RepeatedCalls<'_> {
    /// Returns the tools left to choose from. The tool of a futile call is withheld from the next action, and
    /// from the second futile call on all tools are: the model can answer from what it has.
    pub(super) fn left<'t>(&self, tools: Vec<&'t ToolSpec>) -> Vec<&'t ToolSpec> {
        match (self.count, self.latest) {
            (0 | 1, latest) => tools.into_iter().filter(|tool| Some(tool.name.as_str()) != latest).collect(),
            _ => Vec::new(),
        }
    }
}

/// Finds the futile calls of a conversation.
pub(super) fn vain(messages: &[Message]) -> RepeatedCalls<'_> {
    let mut open: Vec<&ToolCall> = Vec::new();
    let mut made: Vec<(&str, &Value, String)> = Vec::new();
    let mut vain = RepeatedCalls::default();
    for message in messages {
        match message {
            Message::User(_) => {
                made.clear();
                vain = RepeatedCalls::default();
            }
            Message::Notice(_) | Message::Context(_) => {}
            Message::Assistant { calls, .. } => open = calls.iter().collect(),
            Message::Output { call, text, .. } => {
                let Some(call) = open.iter().find(|open| open.id.to_string() == *call) else { continue };
                let (tool, arguments, text) = (call.tool.as_str(), &call.arguments, without_ids(text));
                let same = || made.iter().filter(|before| (before.0, before.1) == (tool, arguments));
                let is_vain = same().any(|before| before.2 == text) || same().count() > 1;
                vain.count += usize::from(is_vain);
                vain.latest = is_vain.then_some(tool);
                made.push((tool, arguments, text));
            }
        }
    }
    vain
}

/// Returns a result's text without ids: starting the same work again returns the same text with a new id.
fn without_ids(text: &str) -> String {
    let is_id = |word: &&str| {
        let end = word.rsplit('_').next().unwrap_or_default();
        word.contains('_') && end.len() == 32 && end.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    text.split_inclusive(|char: char| !char.is_alphanumeric() && char != '_')
        .filter(|word| !is_id(&word.trim_end_matches(|char: char| !char.is_alphanumeric())))
        .collect()
}
