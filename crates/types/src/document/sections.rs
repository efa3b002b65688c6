//! Edits of sections of a text: each names the text that it replaces, so that the rest of a long document need not be
//! written again and cannot be damaged.

use std::borrow::Cow;

use super::DOCUMENT_BYTES;

/// One replacement in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionEdit {
    /// The text that is there now, exactly once.
    pub old: String,
    /// What stands in its place.
    pub new: String,
}

/// The most edits that are applied at once: each is looked for in the whole text.
pub const MOST_SECTION_EDITS: usize = 100;
/// So many characters of a text show which one an error is about.
const SHOWN: usize = 80;

/// Why edits cannot be applied. Edits are numbered from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// There are no edits.
    #[error("there are no edits; give each as the text that is there now and the text that replaces it")]
    None,
    /// There are too many edits.
    #[error(
        "there are {0} edits, and {MOST_SECTION_EDITS} at most are applied at once; make several changes"
    )]
    TooMany(usize),
    /// An edit replaces nothing.
    #[error("edit {number}: the old text is empty; to add something, replace the text next to it by both")]
    Empty {
        /// Which edit.
        number: usize,
    },
    /// The old text of an edit does not stand there exactly once.
    #[error("edit {number}: the document has {} `{}`; {}", times_of(*.times), .old, advice_for(*.times))]
    NotOnce {
        /// Which edit.
        number: usize,
        /// How often the text stands there.
        times: usize,
        /// The beginning of the text.
        old: String,
    },
    /// Two edits replace the same characters.
    #[error("edits {first} and {second} overlap; make one edit of them")]
    Overlap {
        /// The one that begins first.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// The text would be too long afterwards.
    #[error(
        "the document would have {bytes} bytes, and {DOCUMENT_BYTES} at most are kept; use several documents"
    )]
    TooLong {
        /// How many bytes it would have.
        bytes: usize,
    },
}

/// Returns the text with all of these edits, each applied to the text as it was before: all of them or none.
///
/// # Errors
/// If one of them cannot be applied.
pub fn with_sections(text: &str, edits: &[SectionEdit]) -> Result<String, SectionError> {
    if edits.is_empty() {
        return Err(SectionError::None);
    }
    if edits.len() > MOST_SECTION_EDITS {
        return Err(SectionError::TooMany(edits.len()));
    }
    let mut places = Vec::with_capacity(edits.len());
    let edits: Vec<[Cow<'_, str>; 2]> =
        edits.iter().map(|edit| [&*edit.old, &*edit.new].map(|part| in_line_ends_of(text, part))).collect();
    for (number, [old, new]) in (1..).zip(&edits) {
        places.push((only_place(text, old, number)?, number, old, new));
    }
    places.sort_by_key(|(from, ..)| *from);
    let (mut edited, mut done, mut before) = (String::with_capacity(text.len()), 0, 0);
    for (from, number, old, new) in places {
        if from < done {
            return Err(SectionError::Overlap { first: before, second: number });
        }
        edited.extend([&text[done..from], &**new]);
        (done, before) = (from + old.len(), number);
    }
    edited.push_str(&text[done..]);
    match edited.len() {
        bytes if bytes > DOCUMENT_BYTES => Err(SectionError::TooLong { bytes }),
        _ => Ok(edited),
    }
}

/// Returns a part of a text as it stands there if all lines of the text end in `\r\n`: models write `\n`.
#[must_use]
pub fn in_line_ends_of<'a>(text: &str, part: &'a str) -> Cow<'a, str> {
    let is_bare = part.contains('\n') && !part.contains('\r');
    if is_bare && text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count() {
        Cow::Owned(part.replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(part)
    }
}

/// Returns where a text stands, if it does exactly once. Places that overlap count: `aa` stands twice in `aaa`.
fn only_place(text: &str, old: &str, number: usize) -> Result<usize, SectionError> {
    let Some(first) = old.chars().next() else { return Err(SectionError::Empty { number }) };
    let (mut found, mut times, mut from) = (None, 0, 0);
    while let Some(at) = text[from..].find(old).map(|at| from + at) {
        found.get_or_insert(at);
        times += 1;
        from = at + first.len_utf8();
    }
    match (found, times) {
        (Some(at), 1) => Ok(at),
        _ => Err(SectionError::NotOnce { number, times, old: shown(old) }),
    }
}

fn shown(old: &str) -> String {
    match old.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &old[..end]),
        None => old.to_owned(),
    }
}

fn times_of(times: usize) -> String {
    match times {
        0 => "nowhere the text".to_owned(),
        times => format!("{times} times the text"),
    }
}

fn advice_for(times: usize) -> &'static str {
    match times {
        0 => "read the document, and give the text exactly as it is there",
        _ => "give more of the text around it, so that it stands there once",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(edits: &[(&str, &str)]) -> Vec<SectionEdit> {
        let edit = |(old, new): &(&str, &str)| SectionEdit { old: (*old).into(), new: (*new).into() };
        edits.iter().map(edit).collect()
    }

    #[test]
    fn edits_have_the_line_ends_of_the_text() {
        let text = "# Soup\r\n\r\nWater.\r\n";
        let edit = edits(&[("Soup\n\nWater.", "Soup\n\nWater.\nSalt.")]);
        assert_eq!(with_sections(text, &edit).as_deref(), Ok("# Soup\r\n\r\nWater.\r\nSalt.\r\n"));
        assert!(with_sections("Soup\n\nWater.\r\n", &edit).is_ok(), "a text may have both");
    }

    #[test]
    fn edits_apply_to_the_text_as_it_was_in_whatever_order() {
        let text = "# Soup\n\nWater.\n\n# Bread\n\nFlour, 1 kg.\n";
        let both = [("Flour, 1 kg", "Rye, 2 kg"), ("Water.", "Flour, 1 kg and water.")];
        let expected = "# Soup\n\nFlour, 1 kg and water.\n\n# Bread\n\nRye, 2 kg.\n";
        assert_eq!(with_sections(text, &edits(&both)).as_deref(), Ok(expected));
        assert_eq!(with_sections("äöü", &edits(&[("ä", ""), ("ü", "😀"), ("ö", "o")])).as_deref(), Ok("o😀"));
        assert_eq!(
            with_sections("ab", &edits(&[("a", "b"), ("b", "a")])).as_deref(),
            Ok("ba"),
            "side by side"
        );
    }

    #[test]
    fn an_edit_that_fits_not_exactly_once_refuses_all() {
        let refused = |text: &str, given: &[(&str, &str)]| with_sections(text, &edits(given)).unwrap_err();
        assert_eq!(refused("a", &[]), SectionError::None);
        assert_eq!(refused("a", &[("a", "b"), ("", "c")]), SectionError::Empty { number: 2 });
        let said = refused("one two", &[("two", "2"), ("three", "3")]).to_string();
        assert!(said.contains("edit 2: the document has nowhere the text `three`"), "{said}");
        let said = refused("a b a b a", &[("a", "c")]).to_string();
        assert!(said.contains("edit 1: the document has 3 times the text `a`"), "{said}");
        assert!(matches!(refused("aaa", &[("aa", "b")]), SectionError::NotOnce { times: 2, .. }));
        assert_eq!(
            refused("abcd", &[("cd", "x"), ("abc", "y")]),
            SectionError::Overlap { first: 2, second: 1 }
        );
        let long = [("a", &*"x".repeat(DOCUMENT_BYTES))];
        assert_eq!(refused("ab", &long), SectionError::TooLong { bytes: DOCUMENT_BYTES + 1 });
        assert_eq!(refused("a", &vec![("a", "b"); 101]), SectionError::TooMany(101));
        let shown = refused("b", &[(&"ä".repeat(1000), "b")]).to_string();
        assert!(shown.chars().count() < 200, "{shown}");
    }
}
