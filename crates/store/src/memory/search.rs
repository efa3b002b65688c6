//! Search for entities by the words in their text.

use entourage_types::Entity;

use crate::words::{sought_words, tokens};

/// Returns the entities that contain all of these words, those with the most occurrences first. The last word
/// matches as a prefix. No text is query syntax; text without a word finds nothing.
pub(super) fn best(entities: Vec<Entity>, text: &str) -> Vec<Entity> {
    let mut phrases: Vec<Vec<String>> = sought_words(text).map(|words| tokens(words).collect()).collect();
    let Some(last) = phrases.pop() else { return Vec::new() };
    let score = |entity: &Entity| {
        let said: Vec<String> = tokens(entity.text.as_deref().unwrap_or_default()).collect();
        let whole = phrases.iter().map(|phrase| times(&said, phrase, |said, word| said == word));
        let begun = times(&said, &last, |said, word| said.starts_with(word));
        whole.chain([begun]).try_fold(0, |sum, times| (times > 0).then_some(sum + times))
    };
    let mut found: Vec<(usize, Entity)> =
        entities.into_iter().filter_map(|entity| Some((score(&entity)?, entity))).collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, entity)| entity).collect()
}

/// Whether an entity contains all of these words.
pub(super) fn finds(entity: &Entity, text: &str) -> bool {
    !best(vec![entity.clone()], text).is_empty()
}

/// Counts the occurrences of the phrase; `last` compares its last word.
fn times(said: &[String], phrase: &[String], last: impl Fn(&str, &str) -> bool) -> usize {
    let Some((end, begin)) = phrase.split_last() else { return 0 };
    said.windows(phrase.len())
        .filter(|window| window.starts_with(begin) && window.last().is_some_and(|word| last(word, end)))
        .count()
}
