//! Text of others inside XML sections is data: it cannot open or close one.

use std::borrow::Cow;

/// Returns the text with the characters that mark sections replaced by entities.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '>', '&', '"']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// Returns the text without characters that only a terminal or a renderer obeys: control characters but ends of lines and
/// tabs, and marks that change the direction of what follows. A model that repeats them would pass them on to people, and
/// a text that reads otherwise than it shows deceives both.
pub(crate) fn without_controls(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || c.is_control() && !matches!(c, '\n' | '\t')
    };
    match text.contains(acts) {
        true => Cow::Owned(text.replace(acts, "")),
        false => Cow::Borrowed(text),
    }
}
