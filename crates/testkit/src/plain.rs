//! A transcript as plain lines, to compare what happened.

use std::collections::BTreeMap;

use entourage_types::{Item, ItemBody, SubOutput, ToolCall};

use crate::audit::well_formed;

/// A whole transcript in one line per item, without times, to compare what happened.
///
/// # Panics
/// If the transcript is not well formed: every call has exactly one output, after it, in call order,
/// before the next turn, and the item numbers have no gap.
#[must_use]
pub fn plain(items: &[Item]) -> Vec<String> {
    let lines = lines(items);
    well_formed(items).unwrap_or_else(|wrong| panic!("{wrong}: {lines:#?}"));
    lines
}

/// A transcript in one line per item, well formed or not.
pub(crate) fn lines(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| line(&item.body)).collect()
}

fn line(body: &ItemBody) -> String {
    match body {
        ItemBody::Message(message) => format!("message: {}", message.text),
        ItemBody::Turn(turn) => format!("turn: {}[{}]", turn.text, of_calls(&turn.calls)),
        ItemBody::Output(output) => {
            format!("output{}: {}", if output.error { "!" } else { "" }, output.text)
        }
        ItemBody::SubCalls(made) => format!("code: [{}]", of_calls(&made.calls)),
        ItemBody::SubOutput(SubOutput { output, .. }) => {
            format!("to code{}: {}", if output.error { "!" } else { "" }, output.text)
        }
        ItemBody::Decision(decision) => format!("decision: {}", decision.outcome),
        ItemBody::Notice(notice) => {
            let reason = notice.code.reason().map(|reason| format!(" {reason}")).unwrap_or_default();
            format!("notice {}{reason}: {}", notice.code.as_str(), notice.text)
        }
        ItemBody::Digest(digest) => format!("digest from {}: {}", digest.from, digest.text),
        ItemBody::Context(context) => {
            let texts: Vec<&str> = context.entries.iter().map(|entry| entry.text.as_str()).collect();
            format!("context: {}", texts.join(" "))
        }
    }
}

fn of_calls(calls: &[ToolCall]) -> String {
    calls.iter().map(|call| format!("{}{}", call.tool, call.arguments)).collect::<Vec<_>>().join(" ")
}

/// The text with each id replaced by its noun and the index of its first occurrence.
pub(crate) fn numbered(text: &str, ids: &mut BTreeMap<String, usize>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('_') {
        let (begin, end) = (at.saturating_sub(3), at + 33);
        let is_id = rest.get(at + 1..end).is_some_and(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()));
        match rest.get(begin..at).filter(|_| is_id) {
            Some(noun) => {
                let count = ids.len();
                let number = ids.entry(rest[begin..end].to_owned()).or_insert(count);
                out.push_str(&format!("{}{noun}#{number}", &rest[..begin]));
                rest = &rest[end..];
            }
            None => {
                out.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}
