//! What code prints: its beginning is kept, the rest only counted as missing.

use std::borrow::Cow;

use monty_types::{MontyException, PrintWriterCallback};

/// What was printed so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Output {
    /// What is kept.
    pub(super) text: String,
    /// Whether more was printed.
    pub(super) truncated: bool,
    /// Bytes that are kept at most.
    limit: usize,
}

impl Output {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    fn push(&mut self, text: &str) {
        if self.truncated {
            return;
        }
        let kept = head(text, self.limit.saturating_sub(self.text.len()));
        self.text.push_str(kept);
        self.truncated = kept.len() < text.len();
    }
}

impl PrintWriterCallback for Output {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.push(&output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.push(end.encode_utf8(&mut [0; 4]));
        Ok(())
    }
}

/// The beginning of a text, of at most this many bytes.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
