//! Words, as entities are found by them: the same for every store that has no index of its own for that, or asks
//! one.

/// A text is looked for by so many of its words at most: each costs a look at the whole index.
const MOST_WORDS: usize = 32;
/// And by no more of it than so many bytes.
const MOST_BYTES: usize = 1024;

/// The words of a text that entities are looked for by: the first ones, where it has many.
pub fn sought_words(text: &str) -> impl Iterator<Item = &str> {
    let read = &text[..text.floor_char_boundary(MOST_BYTES)];
    let words = read.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| word.contains(char::is_alphanumeric)).take(MOST_WORDS)
}

/// The words that a text is indexed by: letters and digits between all else, in small letters.
pub fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}
