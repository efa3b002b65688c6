//! The words of full-text search over entities, the same for a store that queries an index and for one that
//! has none.

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

/// Returns the words that a text is indexed by: its runs of letters and digits, in lower case.
pub fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}
