//! What a text says around the words by which a search found it.

use std::collections::BTreeSet;

use crate::words::{sought_words, token, token_places, tokens};

/// So many places of the sought words are looked at: a word that stands everywhere is shown where it first does.
const MOST_PLACES: usize = 1000;

/// A place of a sought word.
struct Place {
    from: usize,
    to: usize,
    /// Which of the words it is.
    word: usize,
}

/// Returns about so many characters of a text in one line, around the place where the most of these words are near
/// each other; from the beginning, if it has none of them. `…` stands where the text goes on.
///
/// Words are compared as full-text search compares them: the last one may be a prefix.
#[must_use]
pub fn snippet(text: &str, words: &str, characters: usize) -> String {
    let from = best_place(text, words, characters).unwrap_or_default();
    let before = text[..from].char_indices().rev().take(characters / 4).last();
    let start = before.map_or(from, |(at, _)| at);
    let end = text[start..].char_indices().nth(characters).map_or(text.len(), |(at, _)| start + at);
    let [begun, cut] = [start > 0, end < text.len()].map(|is_cut| if is_cut { "…" } else { "" });
    format!("{begun}{}{cut}", one_line(&text[start..end]))
}

/// Returns the text with single blanks between its words, and neither line ends nor control characters.
#[must_use]
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns where the stretch begins that has the most of the words, the first of those.
fn best_place(text: &str, words: &str, characters: usize) -> Option<usize> {
    let sought: Vec<String> = sought_words(words).flat_map(tokens).collect();
    let (last, whole) = sought.split_last()?;
    let which = |said: &str| {
        let is_whole = whole.iter().position(|word| word == said);
        is_whole.or_else(|| said.starts_with(last.as_str()).then_some(whole.len()))
    };
    let places = token_places(text).filter_map(|place| {
        let word = which(&token(&text[place.clone()]))?;
        Some(Place { from: place.start, to: place.end, word })
    });
    let places: Vec<Place> = places.take(MOST_PLACES).collect();
    let distinct = |start: usize| {
        let near = places[start..].iter().take_while(|near| near.to - places[start].from <= characters);
        near.map(|near| near.word).collect::<BTreeSet<_>>().len()
    };
    // Of equals, the last one that an iterator compares wins.
    let best = (0..places.len()).rev().max_by_key(|start| distinct(*start))?;
    Some(places[best].from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_words_where_they_are_near_each_other() {
        let filler = "Nothing of note happened. ".repeat(40);
        let text = format!("Salt. {filler}The soup needs\nSALT and pepper.\n{filler}Pepper.");
        let shown = snippet(&text, "salt pep", 80);
        assert!(shown.contains("The soup needs SALT and pepper."), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.chars().count() <= 82, "{shown}");
        assert_eq!(snippet("Short.", "short", 80), "Short.");
        assert_eq!(snippet("Just a text.", "absent", 6), "Just a…");
        assert_eq!(snippet("", "absent", 6), "");
    }

    /// Whatever the text and wherever it is cut: no character is split, and diacritics do not hide a word.
    #[test]
    fn a_snippet_is_cut_between_characters() {
        let text = format!("{}Café 😀{}", "ä😀".repeat(100), "界\u{301}".repeat(100));
        for characters in 0..100 {
            let shown = snippet(&text, "cafe", characters);
            assert!(shown.chars().count() <= characters + 2, "{shown}");
            assert!(characters < 10 || shown.contains("Café"), "{characters}: {shown}");
        }
    }

    #[test]
    fn a_snippet_is_one_line_without_control_characters() {
        assert_eq!(snippet("a\r\n\t\u{1b}[31mb\u{85}c\u{2028}d", "a", 80), "a [31mb c d");
    }
}
