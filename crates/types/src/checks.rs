//! What must be let pass: the checks on what an agent of a kind is told and answers.

use serde::{Deserialize, Serialize};

/// The checks on what an agent is told and answers, by the names they have in the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Checks {
    /// What it is told must pass these before its model reads it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<String>,
    /// The same while its model is already being asked: what the model says meanwhile is thrown away
    /// when one of them refuses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// Its answer, and what it tells the user, must pass these before anybody is told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
    /// How many calls of tools must have been answered without an error in a run before its answer may
    /// pass: whose answers need sources has looked at some.
    #[serde(skip_serializing_if = "is_none")]
    pub min_calls: u32,
    /// How many times in one run refused words go back to the model, with the reason.
    pub attempts: u32,
}

impl Default for Checks {
    fn default() -> Self {
        Self { input: Vec::new(), beside: Vec::new(), output: Vec::new(), min_calls: 0, attempts: 1 }
    }
}

impl Checks {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.input.iter().chain(&self.beside).chain(&self.output).map(String::as_str)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
const fn is_none(count: &u32) -> bool {
    *count == 0
}
