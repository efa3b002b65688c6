//! The words of full-text search over entities, the same for a store that queries an index and for one that
//! has none.

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
    let words = text.split(|c: char| !c.is_alphanumeric() && !is_diacritic(c));
    words.filter(|word| word.contains(char::is_alphanumeric)).map(|word| {
        word.chars()
            .filter(|c| !is_diacritic(*c))
            .map(without_diacritics)
            .flat_map(char::to_lowercase)
            .collect()
    })
}

/// The words of a search in titles: at most eight.
pub fn title_words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().take(8)
}

/// Whether a title contains each of these words, in whatever case of ASCII letters.
#[must_use]
pub fn has_words(title: &str, words: &str) -> bool {
    let title = title.to_ascii_lowercase();
    title_words(words).all(|word| title.contains(&word.to_ascii_lowercase()))
}

/// What questions are ordered by if those that are due soonest come first: the second in which one is due; what
/// is never due comes after all others.
///
/// This is the only order for which a store reads the JSON of a record; the embedded store has the same expression in
/// an index of the open questions, which alone are listed so. A column would be a part of every record, empty in all
/// others, and of every write of one. If a second noun is to be listed by a time in it, `Columns` should get that
/// column, and this go.
#[must_use]
pub fn due_first(question: &str) -> String {
    let body: Option<serde_json::Value> = serde_json::from_str(question).ok();
    let due = body.as_ref().and_then(|body| body.get("due")).and_then(serde_json::Value::as_str);
    due.map_or_else(|| "~".to_owned(), |due| due.chars().take(19).collect())
}

/// Whether this is a mark that combines with the letter before it.
fn is_diacritic(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// Returns a Latin letter without its diacritics, and any other character as it is.
fn without_diacritics(c: char) -> char {
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
