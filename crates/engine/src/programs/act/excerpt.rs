//! What a prompt shows of a document.

use crate::prompt::{cut, is_longer};

/// The most characters of a content that is shown whole (S5-R026). Of a larger one as many are shown: three quarters of
/// them from its beginning, and one quarter from its end (S5-R025).
const LARGE: usize = 2_000;

/// What a prompt shows of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Excerpt<'a> {
    /// All of it.
    Whole(&'a str),
    /// Its beginning and its end, with a mark between them that says how much is left out (S5-R027).
    Part(String),
}

impl<'a> Excerpt<'a> {
    /// Returns the excerpt of a content. The document keeps the whole (S5-R028).
    pub(crate) fn of(content: &'a str) -> Self {
        Self::within(content, LARGE)
    }

    /// Returns the excerpt of a content of which more, or less, may be shown.
    pub(crate) fn within(content: &'a str, most: usize) -> Self {
        if is_longer(content, most) { Self::Part(cut(content, most, None)) } else { Self::Whole(content) }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Whole(text) => text,
            Self::Part(text) => text,
        }
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
            assert_eq!(Excerpt::of(&whole), Excerpt::Whole(&whole));
            let (head, middle, tail) = (character.repeat(1_500), "m".repeat(7), character.repeat(500));
            let large = format!("{head}{middle}{tail}");
            let shown = format!("{head}\n[… 7 of 2007 characters left out …]\n{tail}");
            assert_eq!(Excerpt::of(&large), Excerpt::Part(shown));
        }
        assert_eq!(Excerpt::of(""), Excerpt::Whole(""));
    }
}
