//! Words, as full-text search compares them: the same for every store, and for what shows where a text was found.

use std::ops::Range;

use icu_normalizer::properties::{CanonicalDecomposition, Decomposed};

/// The maximum number of words of a query that are searched for: each costs a lookup in the whole index.
const MOST_WORDS: usize = 32;
/// The maximum number of bytes of a query that are read.
const MOST_BYTES: usize = 1024;

/// Returns the words of a query that are searched for: only the first ones, if it has many.
pub fn sought_words(text: &str) -> impl Iterator<Item = &str> {
    let read = &text[..text.floor_char_boundary(MOST_BYTES)];
    let words = read.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| word.contains(char::is_alphanumeric)).take(MOST_WORDS)
}

/// Returns the words that a text is indexed by: its runs of letters and digits, in lower case, and Latin letters
/// without diacritics.
pub fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    token_places(text).map(|place| token(&text[place]))
}

/// Returns where in a text the words are that it is indexed by.
pub(crate) fn token_places(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_between = |c: char| !c.is_alphanumeric() && !is_diacritic(c);
    let mut at = 0;
    let runs = text.split_inclusive(is_between).map(move |piece| {
        let from = at;
        at += piece.len();
        (from, piece.trim_end_matches(is_between))
    });
    runs.filter(|(_, run)| run.contains(char::is_alphanumeric)).map(|(from, run)| from..from + run.len())
}

/// Returns the form in which a word is indexed.
pub(crate) fn token(word: &str) -> String {
    let letters = word.chars().filter(|c| !is_diacritic(*c)).map(without_diacritics);
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether this is a mark that combines with the letter before it.
fn is_diacritic(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// Returns a Latin letter without its diacritics, and any other character as it is.
fn without_diacritics(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let decomposition = CanonicalDecomposition::new();
    let mut base = c;
    while let Decomposed::Expansion(letter, mark) = decomposition.decompose(base)
        && is_diacritic(mark)
    {
        base = letter;
    }
    if base.is_ascii_alphabetic() { base } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_letters_lose_their_case_and_their_diacritics_and_others_only_their_case() {
        let words: Vec<String> = tokens("Zoë's CAFÉ, Cafe\u{301}s — Việt İzmir Ωμέγα 각 7½").collect();
        assert_eq!(words, ["zoe", "s", "cafe", "cafes", "viet", "izmir", "ωμέγα", "각", "7½"]);
    }
}
