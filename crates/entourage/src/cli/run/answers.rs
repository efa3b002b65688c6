//! What the answer of a task consists of.

use entourage_api::{Entry, Role};

/// The agent's messages in the runs that ended, each since the last message to it; if none has ended, its
/// messages so far.
pub(super) fn answers(entries: &[Entry], ends: &[u64]) -> Option<String> {
    let mut from = 0;
    let mut said = Vec::new();
    for end in ends {
        // Questions and their answers are among the items and have no number of their own.
        let is_before = |entry: &Entry| entry.item_seq.is_some_and(|seq| seq < *end);
        let upto = entries.iter().rposition(is_before).map_or(from, |last| last + 1);
        said.extend(answer(&entries[from..upto]));
        from = upto;
    }
    if ends.is_empty() { answer(entries) } else { (!said.is_empty()).then(|| said.join("\n\n")) }
}

/// The final result of an exploration: what it wrote before that is work in progress.
pub(super) fn result(entries: &[Entry]) -> Option<String> {
    let last = entries.iter().rfind(|entry| entry.role == Role::Assistant)?;
    Some(last.text.trim().to_owned())
}

/// The agent's messages since the last message to it.
fn answer(entries: &[Entry]) -> Option<String> {
    let asked = entries.iter().rposition(|entry| entry.role == Role::User).map_or(0, |last| last + 1);
    let said: Vec<&str> = entries[asked..]
        .iter()
        .filter(|entry| entry.role == Role::Assistant)
        .map(|entry| entry.text.trim())
        .collect();
    (!said.is_empty()).then(|| said.join("\n\n"))
}
