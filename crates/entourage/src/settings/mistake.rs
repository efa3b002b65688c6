//! Finds the line and the key of a mistake in the settings' file.

use std::path::Path;

use super::message::without_value;
use crate::Error;

/// Describes a mistake in the file with its line number, in one line.
pub(super) fn in_file(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let (above, this) = before.rsplit_once('\n').map_or((None, before), |(above, this)| (Some(above), this));
    let line = above.map_or(1, |above| above.matches('\n').count() + 2);
    let why = without_value(error.message());
    let key = key_before(this);
    let why = if key.is_empty() { why } else { format!("`{key}`: {why}") };
    Error::Settings { place: format!("{}:{line}", path.display()), why }
}

/// The dotted key of the value that begins after this part of a line, with the keys of the inline tables and
/// lists around it, as far as they are bare keys.
fn key_before(line: &str) -> String {
    let (mut above, mut key, mut begin, mut quote) = (Vec::new(), "", 0, None);
    let mut chars = line.char_indices();
    while let Some((at, char)) = chars.next() {
        match (quote, char) {
            (Some('"'), '\\') => drop(chars.next()),
            (Some(open), _) => quote = quote.filter(|_| open != char),
            (None, '"' | '\'') => quote = Some(char),
            (None, '=') => key = line[begin..at].trim(),
            (None, '{' | '[') => {
                above.push(std::mem::take(&mut key));
                begin = at + 1;
            }
            (None, '}' | ']') => key = above.pop().unwrap_or_default(),
            (None, ',') => (key, begin) = ("", at + 1),
            (None, _) => {}
        }
    }
    above.push(key);
    let named = above.into_iter().filter(|key| !key.is_empty());
    named.take_while(|key| is_key(key)).collect::<Vec<_>>().join(".")
}

fn is_key(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
