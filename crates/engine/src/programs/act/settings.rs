//! The prompts of the document agent, from its kind's file.

use entourage_types::Kind;
use serde::Deserialize;

use crate::run::settings_of;

/// `program_settings` of a kind with the program `act`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// What is to be done about a message (S5-R033 to S5-R035).
    pub(crate) decide: String,
    /// How a document is written anew.
    pub(crate) rewrite: String,
    /// How a document is changed that is too long for that.
    pub(crate) rewrite_in_places: String,
    /// How a message is answered.
    pub(crate) converse: String,
    /// The most characters of a document that is written anew as a whole; a longer one is changed in places.
    #[serde(default = "whole_chars")]
    pub(crate) whole_chars: usize,
}

const fn whole_chars() -> usize {
    8_000
}

impl Settings {
    /// # Errors
    /// Says what is wrong with the settings of this kind.
    pub(crate) fn check(kind: &Kind) -> Result<(), String> {
        settings_of::<Self>(kind).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::parse;

    fn kind() -> Kind {
        let (kind, findings) = parse("documents.md", include_str!("../../../../../agents/documents.md"));
        assert_eq!(findings.len(), 0, "{findings:?}");
        kind.unwrap()
    }

    /// Shows: S5-R033, S5-R034, S5-R035.
    #[test]
    fn the_prompts_say_what_there_is_to_decide() {
        let kind = kind();
        assert_eq!(Settings::check(&kind), Ok(()));
        let settings: Settings = settings_of(&kind).unwrap();
        for part in [
            "- Conversation:",
            "- Edit:",
            "- Create:",
            "Which document:",
            "When to search the web:",
            "When to ask first:",
        ] {
            assert!(settings.decide.contains(part), "{part}");
        }
        assert!(settings.rewrite.contains("whole new content"));
        assert!(settings.rewrite_in_places.contains("`old`"));
        assert!(settings.converse.contains("Use the documents"));
        assert!(kind.instructions.split_whitespace().count() < 150);
    }

    #[test]
    fn a_kind_sets_what_is_long() {
        let mut kind = kind();
        assert_eq!(settings_of::<Settings>(&kind).unwrap().whole_chars, 8_000);
        kind.program_settings.as_mut().unwrap()["whole_chars"] = 100.into();
        assert_eq!(settings_of::<Settings>(&kind).unwrap().whole_chars, 100);
    }

    #[test]
    fn a_kind_without_the_prompts_is_refused() {
        let why = Settings::check(&Kind::bare("documents")).unwrap_err();
        assert!(why.contains("decide") && why.contains("documents"), "{why}");
    }
}
