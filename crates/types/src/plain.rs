//! Text as every database can hold it.

/// The longest name that a row is known or found by, in bytes: an index of PostgreSQL has 2,704 for a whole row.
pub const LONGEST_NAME: usize = 512;

/// The text without NULs: not every database has room for them in a column of its own.
#[must_use]
pub fn plain(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_nul_is_replaced_and_all_else_stays() {
        assert_eq!(plain("a\0b\u{1}".into()), "a\u{fffd}b\u{1}");
        assert_eq!(plain("ünïcödé".into()), "ünïcödé");
    }
}
