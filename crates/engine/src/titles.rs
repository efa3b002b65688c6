//! Titles: of agents by their first message, and of kinds.

/// How much of a message makes a title, in characters.
const TITLE: usize = 80;

/// The beginning of a text, on one line.
pub(crate) fn title_of(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TITLE) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

/// A kind's name as a person's title.
pub(crate) fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
