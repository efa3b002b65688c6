//! Names that no two records of one scope have.

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::Parent;

/// A name that no two records of one noun and owner have at the same time: among all of them, or among those that
/// belong to one parent. A record gives up its name when it is written with another one, with none, or removed.
///
/// Names are compared [folded](fold_name).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UniqueName(String);

impl UniqueName {
    /// A name that no other record of the noun and owner has.
    #[must_use]
    pub fn of_owner(name: &str) -> Self {
        Self(fold_name(name))
    }

    /// A name that no other record of the noun and owner has which belongs to this parent.
    #[must_use]
    pub fn below(parent: &Parent, name: &str) -> Self {
        // A folded name has no line breaks, so that no two scopes share a key.
        Self(format!("{parent}\n{}", fold_name(name)))
    }

    /// The key by which it is compared and stored: its scope, if that is a parent, and the folded name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<UniqueName> for String {
    fn from(name: UniqueName) -> Self {
        name.0
    }
}

/// Returns the text with letters and their diacritics composed (NFC): keyboards and systems write `é` in two ways.
#[must_use]
pub fn composed(text: &str) -> Cow<'_, str> {
    ComposingNormalizerBorrowed::new_nfc().normalize(text)
}

/// Returns the form in which two spellings of a name are equal: without blanks at its ends and with a single one
/// between its words, without case, and composed (NFC). Letters with and without a diacritic are different, and so
/// are letters that only look alike.
#[must_use]
pub fn fold_name(name: &str) -> String {
    let words = name.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join(" ");
    // By way of upper case, in which `ß` and both forms of the Greek sigma have one form each.
    let upper: String = composed(&name).chars().flat_map(char::to_uppercase).collect();
    let lower: String = upper.chars().flat_map(char::to_lowercase).collect();
    composed(&lower).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AgentId;

    #[test]
    fn spellings_of_one_name_fold_to_one_key() {
        for (one, other) in [
            ("Report", " report\t"),
            ("Annual  Report", "annual\nreport"),
            ("Zoë", "ZOE\u{308}"),
            ("Straße", "STRASSE"),
            ("ΟΔΟΣ", "οδος"),
            ("İzmir", "i\u{307}zmir"),
            ("Ａ", "ａ"),
        ] {
            assert_eq!(fold_name(one), fold_name(other), "{one:?} and {other:?}");
            assert_eq!(fold_name(&fold_name(one)), fold_name(one), "{one:?} folded twice");
        }
        for (one, other) in [("Zoë", "Zoe"), ("a b", "ab"), ("o", "о"), ("Ａ", "A")] {
            assert_ne!(fold_name(one), fold_name(other), "{one:?} and {other:?}");
        }
    }

    #[test]
    fn a_name_below_a_parent_never_equals_one_below_another() {
        let [one, other] = [AgentId::new(), AgentId::new()].map(Parent::from);
        assert_eq!(UniqueName::below(&one, "A"), UniqueName::below(&one, "a "));
        assert_ne!(UniqueName::below(&one, "a"), UniqueName::below(&other, "a"));
        let forged = format!("{one}\na");
        assert_ne!(UniqueName::of_owner(&forged), UniqueName::below(&one, "a"));
    }
}
