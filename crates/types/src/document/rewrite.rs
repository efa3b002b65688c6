//! The guard of rewrites: a model that returns nothing, or a part of a text, does not destroy the rest (S5-R064).

/// Whether a rewrite may make a text much shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shrink {
    /// Only a little: a longer part is asked about.
    Limited {
        /// How many percent of the characters stay at least.
        kept_percent: u8,
    },
    /// Yes: that is what the person wants.
    Intended,
}

impl Shrink {
    /// At least half of the characters stay.
    pub const HALF: Self = Self::Limited { kept_percent: 50 };
}

/// Why a rewrite is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The new text is blank.
    #[error(
        "the new text is empty, and the document was not changed: give the whole new text, or delete the document"
    )]
    Empty,
    /// Too much of the text would go.
    #[error(
        "the new text has {after} characters and the present one {before}: that is less than {kept_percent} %, and the \
         document was not changed. Give the whole new text, with the parts that stay"
    )]
    Shrinks {
        /// How many characters the text has.
        before: usize,
        /// How many it would have.
        after: usize,
        /// How many percent stay at least.
        kept_percent: u8,
    },
}

/// Checks the text that is to replace the whole text of a document: it is not blank, and it is not much shorter than the
/// text before unless that is intended.
///
/// # Errors
/// If it is refused.
pub fn check_rewrite(before: &str, after: &str, shrink: Shrink) -> Result<(), RewriteError> {
    if after.trim().is_empty() {
        return Err(RewriteError::Empty);
    }
    let [before, after] = [before, after].map(|text| text.trim().chars().count());
    match shrink {
        Shrink::Limited { kept_percent } if after * 100 < before * usize::from(kept_percent) => {
            Err(RewriteError::Shrinks { before, after, kept_percent })
        }
        Shrink::Limited { .. } | Shrink::Intended => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_that_loses_most_of_a_text_is_refused_unless_intended() {
        let check = |before: &str, after: &str| check_rewrite(before, after, Shrink::HALF);
        assert_eq!(check("", "new"), Ok(()));
        assert_eq!(check("four", "ab"), Ok(()));
        assert_eq!(
            check("fives", "äö"),
            Err(RewriteError::Shrinks { before: 5, after: 2, kept_percent: 50 })
        );
        assert_eq!(check("ab", "\n       ab"), Ok(()), "blanks around it do not count");
        assert!(check_rewrite("0123456789", "0123456", Shrink::Limited { kept_percent: 80 }).is_err());
        assert_eq!(check_rewrite("a long text", "short", Shrink::Intended), Ok(()));
        for shrink in [Shrink::HALF, Shrink::Intended] {
            assert_eq!(check_rewrite("text", " \n", shrink), Err(RewriteError::Empty));
        }
    }
}
