//! Text that every database can store.

/// The maximum length in bytes of a name in an index: an index of PostgreSQL has 2,704 bytes for a
/// whole row.
pub const LONGEST_NAME: usize = 512;

/// Whether every database can store and index this text as a name or an id.
#[must_use]
pub fn is_storable_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && !name.contains('\0')
}

/// Replaces NULs: not every database can store them in a text column.
#[must_use]
pub fn plain(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, is_storable_name, plain};

    #[test]
    fn a_name_has_a_length_and_no_nul() {
        assert!(is_storable_name(&"n".repeat(LONGEST_NAME)));
        assert!(!is_storable_name(&"n".repeat(LONGEST_NAME + 1)));
        assert!(!is_storable_name("a\0b"));
    }

    #[test]
    fn plain_replaces_nul_and_keeps_every_other_character() {
        assert_eq!(plain("a\0b\u{1}".into()), "a\u{fffd}b\u{1}");
        assert_eq!(plain("ünïcödé".into()), "ünïcödé");
    }
}
