//! Removes the key of a request from the answer: some servers repeat it, even in an answer.

use serde_json::Value;

use crate::{Delta, Deltas, Reply};

/// A shorter key is not a secret but a placeholder that self-hosted servers accept as one.
const LEAST: usize = 16;
/// An escape begins with at most this many backslashes, so that a text of many is read in linear time: three levels
/// of JSON within JSON have seven.
const MOST_SLASHES: usize = 8;
/// Replaces the key.
const INSTEAD: &str = "[key]";

/// The key to remove.
#[derive(Clone, Copy)]
pub(super) struct Key<'a>(Option<&'a str>);

impl<'a> Key<'a> {
    pub(super) fn of(key: Option<&'a str>) -> Self {
        Self(key.filter(|key| key.len() >= LEAST))
    }

    /// Removes the key from a reply, whose arguments are decoded.
    pub(super) fn strike(self, reply: &mut Reply) {
        let Some(key) = self.0 else { return };
        strike(&mut reply.text, key);
        for call in &mut reply.calls {
            strike(&mut call.tool, key);
            strike_in(&mut call.arguments, key);
        }
    }
}

/// Removes the key from a text. The text may be JSON that is decoded later, so that each character of the key
/// may be escaped.
fn strike(text: &mut String, key: &str) {
    let Some(first) = key.chars().next() else { return };
    let (mut kept, mut rest) = (String::new(), text.as_str());
    while let Some(at) = rest.find([first, '\\']) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        rest = match without_key(from, key) {
            Some(behind) => {
                kept.push_str(INSTEAD);
                behind
            }
            None => {
                let next = from.ceil_char_boundary(1);
                kept.push_str(&from[..next]);
                &from[next..]
            }
        };
    }
    if !kept.is_empty() {
        kept.push_str(rest);
        *text = kept;
    }
}

/// Returns what follows the key, if a text begins with it.
fn without_key<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    key.chars().try_fold(text, |rest, char| rest.strip_prefix(char).or_else(|| without_escaped(rest, char)))
}

/// Returns what follows a character, if a text begins with its escape in JSON, or in JSON within JSON.
fn without_escaped(text: &str, char: char) -> Option<&str> {
    let slashes = text.bytes().take(MOST_SLASHES).take_while(|byte| *byte == b'\\').count();
    let rest = Some(&text[slashes..]).filter(|_| slashes > 0)?;
    if let Some(rest) = rest.strip_prefix(char) {
        return Some(rest);
    }
    let rest = rest.strip_prefix('u')?;
    let code = u32::from_str_radix(rest.get(..4)?, 16).ok()?;
    (code == u32::from(char)).then(|| &rest[4..])
}

fn strike_in(value: &mut Value, key: &str) {
    match value {
        Value::String(text) => strike(text, key),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| strike_in(entry, key)),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(mut name, mut field)| {
                strike(&mut name, key);
                strike_in(&mut field, key);
                (name, field)
            }));
        }
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
            Delta::Call { mut tool } => {
                self.end();
                strike(&mut tool, key);
                Some(Delta::Call { tool })
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

    #[test]
    fn a_key_is_redacted_however_it_is_escaped() {
        let escaped = |slashes: &str| {
            KEY.chars().fold(String::new(), |text, char| format!("{text}{slashes}u{:04x}", u32::from(char)))
        };
        for written in [
            KEY.to_owned(),
            escaped(r"\"),
            escaped(r"\\"),
            KEY.replace('s', r"\u0073"),
            KEY.replace('-', r"\u002D"),
        ] {
            let mut text = format!("sk-ä\\ {written}, {written}\\");
            strike(&mut text, KEY);
            assert_eq!(text, "sk-ä\\ [key], [key]\\", "{written}");
        }
        let mut text = format!(r"\u00 \u0073 \n {}", &KEY[1..]);
        strike(&mut text, KEY);
        assert_eq!(text, format!(r"\u00 \u0073 \n {}", &KEY[1..]), "not the key");
    }
}
