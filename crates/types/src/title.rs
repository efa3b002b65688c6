//! Titles: of agents, by their work.

/// How much of a text makes a title, in characters.
const TITLE: usize = 80;

/// Returns the beginning of a text as a title, on one line.
#[must_use]
pub fn title_of(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TITLE) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_beginning_of_a_text_on_one_line() {
        assert_eq!(title_of(" Find\n\nthe  desk. "), "Find the desk.");
        assert_eq!(title_of(&"ä".repeat(TITLE)), "ä".repeat(TITLE));
        assert_eq!(
            title_of(&format!("{} b c", "ä".repeat(TITLE - 1))),
            format!("{}…", "ä".repeat(TITLE - 1))
        );
    }
}
