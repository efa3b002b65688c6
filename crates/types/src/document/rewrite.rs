//! The guard of rewrites: a model that returns nothing, or a part of a text, does not destroy the rest (S5-R064).

/// Whether a rewrite may make a text much shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shrink {
    /// No: it is refused, so that it is asked about.
    Refused,
    /// Yes: that is what the person wants.
    Intended,
}

/// Why a rewrite is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The new text is blank.
    #[error(
        "the new text is empty, and the document was not changed: give the whole new text, or delete the document"
    )]
    Empty,
    /// The new text has less than half of the characters.
    #[error(
        "the new text has {after} characters and the present one {before}: that is less than half, and the document \
         was not changed. Give the whole new text, with the parts that stay"
    )]
    Shrinks {
        /// How many characters the text has.
        before: usize,
        /// How many it would have.
        after: usize,
    },
}

/// Checks the text that is to replace the whole text of a document: it is not blank, and it has at least half as many
/// characters as the text before, unless it is intended to be shorter.
///
/// # Errors
/// If it is refused.
pub fn check_rewrite(before: &str, after: &str, shrink: Shrink) -> Result<(), RewriteError> {
    if after.trim().is_empty() {
        return Err(RewriteError::Empty);
    }
    let [before, after] = [before, after].map(|text| text.trim().chars().count());
    if shrink == Shrink::Refused && after * 2 < before {
        return Err(RewriteError::Shrinks { before, after });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_that_loses_most_of_a_text_is_refused_unless_intended() {
        let check = |before: &str, after: &str| check_rewrite(before, after, Shrink::Refused);
        assert_eq!(check("", "new"), Ok(()));
        assert_eq!(check("four", "ab"), Ok(()));
        assert_eq!(check("fives", "äö"), Err(RewriteError::Shrinks { before: 5, after: 2 }));
        assert_eq!(check("ab", "\n       ab"), Ok(()), "blanks around it do not count");
        assert_eq!(check_rewrite("a long text", "short", Shrink::Intended), Ok(()));
        for shrink in [Shrink::Refused, Shrink::Intended] {
            assert_eq!(check_rewrite("text", " \n", shrink), Err(RewriteError::Empty));
        }
    }
}
