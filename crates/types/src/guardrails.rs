//! The guardrails on what an agent of a kind reads and answers.

use serde::{Deserialize, Serialize};

/// The guardrails on what an agent reads and answers, by their names in the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Guardrails {
    /// A message must pass these before the agent's model reads it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<String>,
    /// Like `input`, but they run while the model is already answering: the engine discards that
    /// answer if one of them refuses the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parallel: Vec<String>,
    /// The agent's answer, and what it sends to the user, must pass these before anyone reads it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
    /// How many tool calls of a run must have returned without an error before its answer may pass:
    /// for agents whose answers must rest on sources.
    #[serde(skip_serializing_if = "is_none")]
    pub min_calls: u32,
    /// How many times in one run a refused text goes back to the model, with the reason.
    pub attempts: u32,
}

impl Default for Guardrails {
    fn default() -> Self {
        Self { input: Vec::new(), parallel: Vec::new(), output: Vec::new(), min_calls: 0, attempts: 1 }
    }
}

impl Guardrails {
    /// Whether all settings have their defaults.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The names of all guardrails.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.input.iter().chain(&self.parallel).chain(&self.output).map(String::as_str)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
const fn is_none(count: &u32) -> bool {
    *count == 0
}
