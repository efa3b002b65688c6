//! A conversation as plain text: for a model to summarise, and to be found by text search.

use std::fmt::Write as _;

use entourage_types::{Author, Digest, ItemBody, NoticeCode, Status};

use super::{View, cut::cut};

/// How many characters of one item are rendered.
const ITEM: usize = 2_000;
/// How many characters of a message are quoted if no model summarises.
const DRAWN: usize = 200;

/// Renders what a view shows, one paragraph per item, in at most `max` characters.
pub(crate) fn render_transcript(view: &View<'_>, max: usize) -> String {
    let mut out = String::new();
    if let Some(Digest { text, .. }) = view.digest.filter(|digest| !digest.text.is_empty()) {
        // Writing to a string does not fail.
        let _ = writeln!(out, "Before that: {text}");
    }
    for item in view.items {
        let (who, text) = match &item.body {
            ItemBody::Message(message) => match &message.from {
                Author::User => ("User".to_owned(), message.text.clone()),
                Author::Agent { kind, .. } => {
                    // How a task ended, where that is not what its text says.
                    let ended = message.ended.filter(|ended| *ended != Status::Succeeded);
                    let ended = ended.map(|ended| format!(" ({ended})")).unwrap_or_default();
                    (format!("{kind}{ended}"), message.text.clone())
                }
                Author::Trigger { trigger } => (trigger.name.clone(), message.text.clone()),
            },
            ItemBody::Turn(turn) => {
                let calls =
                    turn.calls.iter().map(|call| format!(" [calls {} {}]", call.tool, call.arguments));
                ("Agent".to_owned(), turn.text.clone() + &calls.collect::<String>())
            }
            ItemBody::Output(output) => (format!("{} returned", output.tool), output.text.clone()),
            ItemBody::Decision(decision) => {
                (format!("Decision {}", decision.name), decision.outcome.to_string())
            }
            // It tells people what a call waits for, and that call must not need more because of it.
            ItemBody::Notice(notice) if notice.code == NoticeCode::OverBudget => continue,
            ItemBody::Notice(notice) => ("Notice".to_owned(), notice.text.clone()),
            ItemBody::Digest(_) | ItemBody::Context(_) => continue,
        };
        let _ = writeln!(out, "{who}: {}", cut(text.trim(), ITEM, None));
    }
    cut(&out, max, None)
}

/// Returns a summary extracted from the messages to the agent: the first one and the last two.
pub(crate) fn drawn(view: &View<'_>) -> String {
    let said: Vec<&str> = view
        .items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::Message(message) => Some(message.text.as_str()),
            _ => None,
        })
        .collect();
    let before = view.digest.map(|digest| digest.text.clone()).filter(|text| !text.is_empty());
    let last = said.len().saturating_sub(2).max(1);
    let chosen = said.iter().take(1).chain(said.iter().skip(last));
    let quoted = chosen.map(|text| {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("\"{}\"", line.chars().take(DRAWN).collect::<String>())
    });
    let asked = quoted.collect::<Vec<_>>().join("; ");
    let asked = (!asked.is_empty()).then(|| format!("The agent was told: {asked}"));
    before.into_iter().chain(asked).collect::<Vec<_>>().join("\n")
}
