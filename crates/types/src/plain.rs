//! Text that every database can store.

/// The maximum length in bytes of a name in an index: an index of PostgreSQL has 2,704 bytes for a
/// whole row.
pub const LONGEST_NAME: usize = 512;

/// Replaces NULs: not every database can store them in a text column.
#[must_use]
pub fn plain(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn plain_replaces_nul_and_keeps_every_other_character() {
        assert_eq!(plain("a\0b\u{1}".into()), "a\u{fffd}b\u{1}");
        assert_eq!(plain("ünïcödé".into()), "ünïcödé");
    }
}
