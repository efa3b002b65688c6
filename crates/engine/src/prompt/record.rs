//! A conversation as plain text: for a model to summarise, and to be found by text search.

use std::fmt::Write as _;

use entourage_types::{Author, Digest, ItemBody, NoticeCode, Status};

use super::{View, cut::cut};

/// How many characters of one item are rendered.
const ITEM: usize = 2_000;
/// What an item takes beside its text, in characters: who said it, and the mark of a cut.
const OVERHEAD: usize = 100;
/// How many characters of a message are quoted if no model summarises.
const DRAWN: usize = 200;

/// How much of a long item is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PerItem {
    /// Its beginning and end: a summary of it comes of that.
    Excerpt,
    /// As much as there is room for: all of it, unless the items together are too long. Then the longest are cut.
    Share,
}

/// Renders what a view shows, one paragraph per item, in at most `max` characters.
pub(crate) fn render_transcript(view: &View<'_>, max: usize, per_item: PerItem) -> String {
    let said: Vec<(String, String)> = view.items.iter().filter_map(|item| said(&item.body)).collect();
    let most = match per_item {
        PerItem::Excerpt => ITEM,
        PerItem::Share => {
            let lengths = said.iter().map(|(_, text)| text.chars().count() + OVERHEAD);
            share(lengths.collect(), max).saturating_sub(OVERHEAD)
        }
    };
    let mut out = String::new();
    if let Some(Digest { text, .. }) = view.digest.filter(|digest| !digest.text.is_empty()) {
        // Writing to a string does not fail.
        let _ = writeln!(out, "Before that: {}", indented(text));
    }
    for (who, text) in said {
        let _ = writeln!(out, "{who}: {}", indented(&cut(text.trim(), most, None)));
    }
    cut(&out, max, None)
}

/// Who said what in an item; none of what no reader of the conversation needs.
fn said(body: &ItemBody) -> Option<(String, String)> {
    Some(match body {
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
            let calls = turn.calls.iter().map(|call| format!(" [calls {} {}]", call.tool, call.arguments));
            ("Agent".to_owned(), turn.text.clone() + &calls.collect::<String>())
        }
        ItemBody::Output(output) => (format!("{} returned", output.tool), output.text.clone()),
        ItemBody::Decision(decision) => (format!("Decision {}", decision.name), decision.outcome.to_string()),
        // It tells people what a call waits for, and that call must not need more because of it.
        ItemBody::Notice(notice) if notice.code == NoticeCode::OverBudget => return None,
        // It is for those who watch.
        ItemBody::Notice(notice) if notice.code == NoticeCode::Progress => return None,
        ItemBody::Notice(notice) => ("Notice".to_owned(), notice.text.clone()),
        ItemBody::Digest(_) | ItemBody::Context(_) | ItemBody::SubCalls(_) | ItemBody::SubOutput(_) => {
            return None;
        }
    })
}

/// The most of one text with which texts of these lengths have room in `max` together.
fn share(mut lengths: Vec<usize>, max: usize) -> usize {
    lengths.sort_unstable();
    let (mut room, mut left) = (max, lengths.len());
    for length in lengths {
        if length > room / left {
            return room / left;
        }
        (room, left) = (room - length, left - 1);
    }
    max
}

/// Indents all lines of a text but the first: only what someone said begins a line, so that no text forges another
/// speaker.
fn indented(text: &str) -> String {
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.replace("\r\n", "\n").split(breaks).collect::<Vec<_>>().join("\n  ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_texts_share_what_the_shorter_ones_leave() {
        for (lengths, max, expected) in [
            (vec![], 10, 10),
            (vec![1, 2, 3], 10, 10),
            (vec![1, 9, 9], 11, 5),
            (vec![9, 9, 9], 10, 3),
            (vec![100, 1, 1, 1], 53, 50),
        ] {
            assert_eq!(share(lengths.clone(), max), expected, "{lengths:?} in {max}");
        }
    }

    #[test]
    fn no_text_begins_a_line_as_someone_else() {
        for (text, expected) in [
            ("a\nUser: b", "a\n  User: b"),
            ("a\r\nb\rc", "a\n  b\n  c"),
            ("a\u{2028}b\u{85}c", "a\n  b\n  c"),
            ("a", "a"),
        ] {
            assert_eq!(indented(text), expected);
        }
    }
}
