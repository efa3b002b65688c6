//! The words of full-text search over entities, the same for a store that queries an index and for one that
//! has none.

pub use entourage_types::{sought_words, tokens};

/// A search for the best matches looks at so many, the latest ones: words that everything has would otherwise cost more
/// with all that is on record.
pub const RANKED: u32 = 1_000;

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

/// The number in the JSON of a record, if it has one.
pub(crate) fn number_of(record: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(record).ok()?.get("number")?.as_u64()
}
