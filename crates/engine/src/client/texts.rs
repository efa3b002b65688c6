//! Which texts and names clients take.

use entourage_types::is_blank;

use crate::{Error, Result};

/// The longest text that a person may send, in bytes of UTF-8; more belongs into a file.
pub(super) const LONGEST_TEXT: usize = 1 << 20;

/// The longest name or title, in characters.
pub(super) const LONGEST_NAME: usize = 255;

/// Refuses a name or a title that is too long. The error does not repeat it: it may be very long.
pub(crate) fn checked_name(what: &str, name: &str) -> Result<()> {
    let length = name.chars().count();
    if length > LONGEST_NAME {
        return Err(Error::Invalid(format!(
            "the {what} has {length} characters; at most {LONGEST_NAME} are taken"
        )));
    }
    Ok(())
}

/// Refuses a text that is empty or too long, or has a NUL, which not every database stores.
pub(super) fn checked_text(text: &str) -> Result<()> {
    if is_blank(text) {
        return Err(Error::Invalid("the text is empty or shows nothing: write what you want to say".into()));
    }
    if text.contains('\0') {
        return Err(Error::Invalid("the text has a NUL character; leave it out".into()));
    }
    if text.len() > LONGEST_TEXT {
        return Err(Error::Invalid(format!(
            "the message has {} bytes; at most {LONGEST_TEXT} are taken. Put long material into a file that the agent can read",
            text.len()
        )));
    }
    Ok(())
}
