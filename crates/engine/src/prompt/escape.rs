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
