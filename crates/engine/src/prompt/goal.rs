//! The section that says what is to be reached, and how.

use entourage_types::Goal;

use super::{cut::cut, escaped, sections::Line};

/// How many characters are shown of a description, and of instructions.
const TEXT: usize = 8_000;

/// Returns the lines of the section: each part of a goal is a line, so that a part that changes is read alone.
pub(super) fn lines(goal: &Goal) -> Vec<Line> {
    let Goal { title, description, instructions, .. } = goal;
    let parts = [("title", title), ("description", description), ("instructions", instructions)];
    let is_said = |(_, text): &(&str, &String)| !text.trim().is_empty();
    let line = |(part, text): (&str, &String)| {
        let text = cut(text.trim(), TEXT, None);
        Line::new(part.to_owned(), vec![format!("<{part}>{}</{part}>", escaped(&text))])
    };
    parts.into_iter().filter(is_said).map(line).collect()
}

/// Returns the line about a part that says nothing any more.
pub(super) fn gone(part: &str) -> String {
    format!("<{part}></{part}>")
}
