//! How long the parts of a document may be, the same for a person, a tool and a program.

use super::{DOCUMENT_NAME_CHARS, NewDocument};
use crate::{fold_name, is_blank, snippet::one_line};

/// The longest text of a document, in bytes.
pub const DOCUMENT_BYTES: usize = 1 << 20;
/// The longest standing instruction, and the longest description of a project, in bytes.
pub const INSTRUCTION_BYTES: usize = 8 << 10;
/// The longest summary of a change, in characters.
pub const SUMMARY_CHARS: usize = 500;
/// The most documents of a project.
pub const DOCUMENTS_OF_PROJECT: u32 = 1000;
/// The longest name in the form in which names are compared, in bytes: what an index takes beside the project's id.
const NAME_BYTES: usize = 400;

/// What is wrong with a part of a project, of a document or of a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// A name is blank, or has only characters that show nothing.
    #[error("the name is empty or shows nothing; give it 1 to {DOCUMENT_NAME_CHARS} characters")]
    NoName,
    /// A name is too long.
    #[error("the name has {characters} characters; give it {DOCUMENT_NAME_CHARS} at most")]
    LongName {
        /// How many it has.
        characters: usize,
    },
    /// A name is too long to be compared, although it has few characters.
    #[error(
        "the name takes {bytes} bytes, and {NAME_BYTES} at most can be compared with other names; shorten it"
    )]
    WideName {
        /// How many bytes it takes.
        bytes: usize,
    },
    /// A name has a line end, a tab or another control character.
    #[error("the name has the control character {0:?}; leave it out")]
    ControlInName(char),
    /// A text is too long.
    #[error(
        "the {part} {} {bytes} bytes, and {most} at most are kept; shorten {}, or use several documents",
        if part.ends_with('s') { "have" } else { "has" },
        if part.ends_with('s') { "them" } else { "it" }
    )]
    Long {
        /// Which part.
        part: &'static str,
        /// How many bytes it has.
        bytes: usize,
        /// How many it may have.
        most: usize,
    },
    /// A summary is too long.
    #[error("the summary has {characters} characters; say in {SUMMARY_CHARS} at most what changed")]
    LongSummary {
        /// How many it has.
        characters: usize,
    },
    /// A text has a NUL, which no text has and not every database stores.
    #[error("the {part} {} a NUL character; leave it out", if part.ends_with('s') { "have" } else { "has" })]
    Nul {
        /// Which part.
        part: &'static str,
    },
}

impl PartError {
    /// The field that has the mistake.
    #[must_use]
    pub fn field(&self) -> String {
        match self {
            Self::NoName | Self::LongName { .. } | Self::WideName { .. } | Self::ControlInName(_) => {
                "name".to_owned()
            }
            Self::LongSummary { .. } => "summary".to_owned(),
            Self::Long { part, .. } | Self::Nul { part } => part.replace(' ', "_"),
        }
    }
}

/// Returns the name of a document, a project, a goal or a trigger without the blanks around it.
///
/// # Errors
/// If it is no name.
pub fn checked_name(name: &str) -> Result<String, PartError> {
    let name = name.trim();
    let characters = name.chars().count();
    if is_blank(name) {
        return Err(PartError::NoName);
    }
    if characters > DOCUMENT_NAME_CHARS {
        return Err(PartError::LongName { characters });
    }
    if let Some(control) = name.chars().find(|c| is_control(*c)) {
        return Err(PartError::ControlInName(control));
    }
    match fold_name(name).len().max(name.len()) {
        bytes if bytes > NAME_BYTES => Err(PartError::WideName { bytes }),
        _ => Ok(name.to_owned()),
    }
}

/// Checks the text of a document.
///
/// # Errors
/// If it is too long, or no text.
pub fn check_content(content: &str) -> Result<(), PartError> {
    check_text("content", content, DOCUMENT_BYTES)
}

/// Checks the standing instruction of a document.
///
/// # Errors
/// If it is too long, or no text.
pub fn check_instruction(instruction: &str) -> Result<(), PartError> {
    check_text("standing instruction", instruction, INSTRUCTION_BYTES)
}

/// Checks the description of a project.
///
/// # Errors
/// If it is too long, or no text.
pub fn check_description(description: &str) -> Result<(), PartError> {
    check_text("description", description, INSTRUCTION_BYTES)
}

/// Returns what a change is about, in one line.
///
/// # Errors
/// If it is too long.
pub fn checked_summary(summary: &str) -> Result<String, PartError> {
    let summary = one_line(summary);
    match summary.chars().count() {
        characters if characters > SUMMARY_CHARS => Err(PartError::LongSummary { characters }),
        _ => Ok(summary),
    }
}

impl NewDocument {
    /// Returns the document with its name and its summary as they are kept.
    ///
    /// # Errors
    /// If a part of it cannot be kept.
    pub fn checked(self) -> Result<Self, PartError> {
        check_content(&self.content)?;
        check_instruction(&self.standing_instruction)?;
        Ok(Self { name: checked_name(&self.name)?, summary: checked_summary(&self.summary)?, ..self })
    }
}

/// Checks a part that is a text.
///
/// # Errors
/// If it has more than `most` bytes, or is no text.
pub fn check_text(part: &'static str, text: &str, most: usize) -> Result<(), PartError> {
    if text.len() > most {
        return Err(PartError::Long { part, bytes: text.len(), most });
    }
    if text.contains('\0') { Err(PartError::Nul { part }) } else { Ok(()) }
}

/// Whether a character ends a line or controls something: what could pass a name for another line.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_to_200_characters_and_none_that_controls() {
        assert_eq!(checked_name("  Annual report \n").as_deref(), Ok("Annual report"));
        assert_eq!(checked_name(&"é".repeat(200)), Ok("é".repeat(200)));
        assert_eq!(checked_name(" \t"), Err(PartError::NoName));
        assert_eq!(checked_name("\u{200b}\u{2060} \u{feff}"), Err(PartError::NoName));
        assert_eq!(checked_name("👩\u{200d}🚀").as_deref(), Ok("👩\u{200d}🚀"), "it shows something");
        assert_eq!(checked_name(&"x".repeat(201)), Err(PartError::LongName { characters: 201 }));
        assert_eq!(checked_name(&"界".repeat(134)), Err(PartError::WideName { bytes: 402 }));
        for c in ['\n', '\0', '\u{1b}', '\u{85}', '\u{2028}'] {
            assert_eq!(checked_name(&format!("a{c}b")), Err(PartError::ControlInName(c)));
        }
    }

    #[test]
    fn what_is_too_long_is_refused_with_its_limit() {
        assert_eq!(check_content(&"x".repeat(DOCUMENT_BYTES)), Ok(()));
        let refused = check_content(&"x".repeat(DOCUMENT_BYTES + 1)).unwrap_err().to_string();
        assert!(refused.contains("1048577 bytes, and 1048576 at most"), "{refused}");
        assert!(check_instruction(&"x".repeat(INSTRUCTION_BYTES + 1)).is_err());
        assert!(check_description(&"x".repeat(INSTRUCTION_BYTES + 1)).is_err());
        assert_eq!(check_content("a\0b"), Err(PartError::Nul { part: "content" }));
        assert_eq!(checked_summary(" a\n b ").as_deref(), Ok("a b"));
        assert!(checked_summary(&"x".repeat(501)).is_err());
    }
}
