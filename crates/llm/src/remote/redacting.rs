//! Removes the key of a request from the answer: some servers repeat it, even in an answer.

use serde_json::Value;

use super::answer::Answer;
use crate::{Delta, Deltas};

/// A shorter key is not a secret but a placeholder that self-hosted servers accept as one.
const LEAST: usize = 16;
/// Replaces the key.
const INSTEAD: &str = "[key]";

/// The key to remove.
#[derive(Clone, Copy)]
pub(super) struct Key<'a>(Option<&'a str>);

impl<'a> Key<'a> {
    pub(super) fn of(key: Option<&'a str>) -> Self {
        Self(key.filter(|key| key.len() >= LEAST))
    }

    /// Removes the key from an answer.
    pub(super) fn strike(self, answer: &mut Answer) {
        let Some(key) = self.0 else { return };
        strike(&mut answer.text, key);
        answer.calls.iter_mut().for_each(|(_, arguments)| strike_in(arguments, key));
    }
}

fn strike(text: &mut String, key: &str) {
    if text.contains(key) {
        *text = text.replace(key, INSTEAD);
    }
}

fn strike_in(value: &mut Value, key: &str) {
    match value {
        Value::String(text) => strike(text, key),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| strike_in(entry, key)),
        Value::Object(fields) => fields.values_mut().for_each(|field| strike_in(field, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Forwards the pieces of an answer without the key, even if it is split over several pieces.
pub(super) struct Redacting<'a> {
    deltas: &'a mut dyn Deltas,
    key: Key<'a>,
    /// Held back, since it may be the beginning of the key.
    text: String,
    reasoning: String,
}

impl<'a> Redacting<'a> {
    pub(super) fn new(deltas: &'a mut dyn Deltas, key: Key<'a>) -> Self {
        Self { deltas, key, text: String::new(), reasoning: String::new() }
    }

    /// Forwards what was held back: no further piece can complete the key.
    pub(super) fn end(&mut self) {
        self.end_reasoning();
        self.end_text();
    }

    fn end_reasoning(&mut self) {
        if !self.reasoning.is_empty() {
            self.deltas.delta(Delta::Reasoning(std::mem::take(&mut self.reasoning)));
        }
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.deltas.delta(Delta::Text(std::mem::take(&mut self.text)));
        }
    }
}

impl Deltas for Redacting<'_> {
    fn delta(&mut self, delta: Delta) {
        let Some(key) = self.key.0 else { return self.deltas.delta(delta) };
        let passed = match delta {
            Delta::Text(piece) => {
                self.end_reasoning();
                passed(&mut self.text, &piece, key).map(Delta::Text)
            }
            Delta::Reasoning(piece) => {
                self.end_text();
                passed(&mut self.reasoning, &piece, key).map(Delta::Reasoning)
            }
            other => {
                self.end();
                Some(other)
            }
        };
        if let Some(delta) = passed {
            self.deltas.delta(delta);
        }
    }
}

/// Returns the text so far that can be forwarded; holds back what may be the beginning of the key.
fn passed(held: &mut String, piece: &str, key: &str) -> Option<String> {
    let mut text = std::mem::take(held);
    text.push_str(piece);
    strike(&mut text, key);
    let beginning = (1..key.len())
        .rev()
        .filter(|length| key.is_char_boundary(*length))
        .find(|length| text.ends_with(&key[..*length]));
    if let Some(length) = beginning {
        *held = text.split_off(text.len() - length);
    }
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-canary-4f1d9c";

    fn redacted_deltas(pieces: &[&str], key: &str) -> Vec<String> {
        let mut seen = Vec::new();
        let mut deltas = |delta: Delta| match delta {
            Delta::Text(text) => seen.push(text),
            other => panic!("{other:?}"),
        };
        let mut struck = Redacting::new(&mut deltas, Key::of(Some(key)));
        pieces.iter().for_each(|piece| struck.delta(Delta::Text((*piece).to_owned())));
        struck.end();
        seen
    }

    #[test]
    fn a_key_is_redacted_however_the_text_is_split() {
        let whole = format!("It is {KEY}, sk-");
        for size in 1..whole.len() {
            let pieces: Vec<&str> =
                whole.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
            assert_eq!(redacted_deltas(&pieces, KEY).concat(), "It is [key], sk-", "in pieces of {size}");
        }
        assert_eq!(redacted_deltas(&["as", "ks"], KEY), ["a", "sk", "s"]);
        assert_eq!(redacted_deltas(&["ollama"], "ollama"), ["ollama"], "no secret");
    }
}
