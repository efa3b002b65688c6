//! The prompts and bounds of an exploration, from its kind's file.

use entourage_types::Kind;
use serde::Deserialize;

use crate::run::settings_of;

/// `program_settings` of a kind with the program `explore`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the bounds and prompts of the program")]
pub(super) struct Settings {
    /// The most questions for missing information.
    pub(super) max_questions: u32,
    /// The most subquestions; further ones are cut.
    pub(super) max_subquestions: usize,
    /// Whether the question is ambiguous.
    pub(super) clarify: String,
    /// Whether critical information is missing.
    pub(super) missing: String,
    /// Which parts are explored by children.
    pub(super) subquestions: String,
    /// What the result is, and whether the user is needed once more.
    pub(super) summary: String,
}

impl Settings {
    /// # Errors
    /// Says what is wrong with the settings of this kind, or that its agents cannot have children.
    pub(super) fn check(kind: &Kind) -> Result<(), String> {
        let settings: Self = settings_of(kind)?;
        if settings.max_subquestions > 0 && !kind.peers.contains(&kind.name) {
            return Err(format!(
                "kind `{0}`: the program `explore` has subquestions explored by agents of the same kind: add `{0}` \
                 to `peers`, or set `max_subquestions` to 0",
                kind.name
            ));
        }
        Ok(())
    }
}
