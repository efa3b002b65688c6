//! What a prompt shows of a document.

use entourage_types::{Document, DocumentHead};

use crate::prompt::{cut, is_longer};

/// The most characters of a content that is shown whole (S5-R026). Of a larger one as many are shown: three quarters of
/// them from its beginning, and one quarter from its end (S5-R025).
const LARGE: usize = 2_000;

/// What a prompt shows of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The content, or its beginning and its end with a mark between them that says how much is left out (S5-R027).
    pub(crate) text: String,
    pub(crate) is_whole: bool,
}

impl Excerpt {
    /// Returns the excerpt of a content. The document keeps the whole (S5-R028).
    pub(crate) fn of(content: &str) -> Self {
        Self::within(content, LARGE)
    }

    /// Returns the excerpt of a content of which more, or less, may be shown.
    pub(crate) fn within(content: &str, most: usize) -> Self {
        let is_whole = !is_longer(content, most);
        let text = if is_whole { content.to_owned() } else { cut(content, most, None) };
        Self { text, is_whole }
    }
}

/// What a message is acted upon with of each document of its project: a project may have more text than fits in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentExcerpt {
    pub(crate) head: DocumentHead,
    pub(crate) content: Excerpt,
}

impl DocumentExcerpt {
    pub(crate) fn of(document: Document) -> Self {
        Self { content: Excerpt::of(&document.content), head: document.head }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows: S5-R025, S5-R026, S5-R027.
    #[test]
    fn a_large_content_shows_its_first_1500_and_its_last_500_characters() {
        for character in ["a", "é", "漢", "🎉"] {
            let whole = character.repeat(2_000);
            assert_eq!(Excerpt::of(&whole), Excerpt { text: whole, is_whole: true });
            let (head, middle, tail) = (character.repeat(1_500), "m".repeat(7), character.repeat(500));
            let large = format!("{head}{middle}{tail}");
            let text = format!("{head}\n[… 7 of 2007 characters left out …]\n{tail}");
            assert_eq!(Excerpt::of(&large), Excerpt { text, is_whole: false });
        }
        assert_eq!(Excerpt::of(""), Excerpt { text: String::new(), is_whole: true });
    }
}
