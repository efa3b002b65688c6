//! Loop detection: an agent that repeats the same calls and gets the same outputs will not make progress. Ids
//! differ each time and do not count.

use entourage_types::{Author, Item, ItemBody, NoticeCode, StepKey, Turn};

/// The longest loop that is detected, in items.
const LONGEST: usize = 12;

/// Returns a sentence about what has happened `times` times in a row at the end of a transcript, if anything.
/// Only items after the user's last message count: the user may well ask for the same again.
pub(in crate::run) fn found(items: &[Item], times: usize) -> Option<String> {
    if times < 2 {
        return None;
    }
    let from_user =
        |item: &Item| matches!(&item.body, ItemBody::Message(message) if message.from.is_outside());
    let since = items.iter().rposition(from_user).map_or(0, |at| at + 1);
    // Context items change without progress. What a program does between two turns does not count as repetition by the
    // model, so only items after it count.
    let since = items.iter().rposition(is_of_program).map_or(since, |at| since.max(at + 1));
    let is_report =
        |body: &ItemBody| matches!(body, ItemBody::Notice(notice) if notice.code == NoticeCode::Progress);
    let counts =
        |body: &ItemBody| !matches!(body, ItemBody::Context(_)) && !body.is_of_code() && !is_report(body);
    let recent: Vec<&Item> = items[since..].iter().filter(|item| counts(&item.body)).collect();
    same_error(&recent, times).or_else(|| circle(&recent, times))
}

fn is_of_program(item: &Item) -> bool {
    let is_own = |key: &StepKey| key.is_of_program() && !matches!(key, StepKey::Model(_));
    item.step.as_ref().is_some_and(is_own)
}

/// Returns a sentence about the shortest loop that the last items form.
fn circle(items: &[&Item], times: usize) -> Option<String> {
    let turns = (1..=LONGEST.min(items.len() / times)).find_map(|length| {
        let tail = &items[items.len() - length * times..];
        let is_circle = tail.iter().zip(&tail[length..]).rev().all(|(one, next)| same(&one.body, &next.body));
        let turns: Vec<&&Item> =
            tail[..length].iter().filter(|item| matches!(item.body, ItemBody::Turn(_))).collect();
        let with_whom = tail[..length].iter().find_map(|item| match &item.body {
            ItemBody::Message(message) => match &message.from {
                Author::Agent { kind, .. } => Some(kind.clone()),
                Author::User | Author::Trigger { .. } => None,
            },
            _ => None,
        });
        (is_circle && !turns.is_empty()).then(|| (turns.first().map(|turn| describe(&turn.body)), with_whom))
    })?;
    Some(match turns {
        (_, Some(kind)) => {
            format!("it and an agent of kind `{kind}` exchanged the same messages {times} times in a row")
        }
        (what, None) => {
            format!(
                "{} had the same result {times} times in a row",
                what.unwrap_or_else(|| "its last turn".into())
            )
        }
    })
}

fn describe(body: &ItemBody) -> String {
    match body {
        ItemBody::Turn(turn) if !turn.calls.is_empty() => {
            let names: Vec<String> = turn.calls.iter().map(|call| format!("`{}`", call.tool)).collect();
            format!("calling {} in the same way", names.join(", "))
        }
        _ => "writing the same text".to_owned(),
    }
}

/// Returns a sentence about the error in which all calls of the last `times` turns ended, whatever they asked
/// for.
fn same_error(items: &[&Item], times: usize) -> Option<String> {
    let mut error: Option<&str> = None;
    let mut turns = 0;
    for item in items.iter().rev() {
        match &item.body {
            ItemBody::Output(output) if output.error => match error {
                Some(first) if !same_text(first, &output.text) => return None,
                _ => error = Some(&output.text),
            },
            ItemBody::Turn(turn) if !turn.calls.is_empty() => turns += 1,
            _ => return None,
        }
        if turns == times {
            return error.map(|error| format!("{times} turns in a row ended with the same error: {error}"));
        }
    }
    None
}

fn same(one: &ItemBody, other: &ItemBody) -> bool {
    match (one, other) {
        (ItemBody::Turn(one), ItemBody::Turn(other)) => same_turn(one, other),
        (ItemBody::Output(one), ItemBody::Output(other)) => {
            (&one.tool, one.error) == (&other.tool, other.error) && same_text(&one.text, &other.text)
        }
        (ItemBody::Message(one), ItemBody::Message(other)) => {
            same_kind(&one.from, &other.from) && same_text(&one.text, &other.text)
        }
        _ => false,
    }
}

/// A new agent for the same work is no progress either.
fn same_kind(one: &Author, other: &Author) -> bool {
    match (one, other) {
        (Author::Agent { kind: one, .. }, Author::Agent { kind: other, .. }) => one == other,
        (one, other) => one == other,
    }
}

/// The text of a turn beside its calls varies and does not count.
fn same_turn(one: &Turn, other: &Turn) -> bool {
    if one.calls.is_empty() || other.calls.is_empty() {
        return one.calls.len() == other.calls.len() && same_text(&one.text, &other.text);
    }
    one.calls.len() == other.calls.len()
        && one.calls.iter().zip(&other.calls).all(|(one, other)| {
            one.tool == other.tool
                && (one.arguments == other.arguments
                    || same_text(&one.arguments.to_string(), &other.arguments.to_string()))
        })
}

/// Whether two texts are the same except for ids, which all have the same length.
fn same_text(one: &str, other: &str) -> bool {
    let words = |text: &'_ str| -> Vec<String> {
        text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').map(without_id).collect()
    };
    one == other || (one.len() == other.len() && words(one) == words(other))
}

/// Returns a word and the characters after it, or only these if the word is an id.
fn without_id(word: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let id = word.trim_end_matches(|c: char| !is_part(c));
    if is_id(id) { word[id.len()..].to_owned() } else { word.to_owned() }
}

fn is_id(word: &str) -> bool {
    word.len() == 36
        && word.as_bytes()[3] == b'_'
        && word.bytes().skip(4).all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_count_as_the_same_if_only_ids_differ() {
        let id = |noun: &str, digit: &str| format!("task {noun}_{} is done", digit.repeat(32));
        assert!(same_text(&id("tsk", "a"), &id("tsk", "b")));
        assert!(!same_text(&id("tsk", "a"), &id("tsk", "z")));
        assert!(!same_text("task 1 is done", "task 2 is done"));
        assert!(!same_text("a, b", "a; b"));
    }
}
