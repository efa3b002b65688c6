//! A tool as a model sees it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// The JSON schema of its arguments: an object.
    pub parameters: Value,
}

words! {
    /// What a call does to the world, and so what a crash in the middle of it means.
    Effect, "class of effect" {
        /// Reads, or writes only through its outcome: run again without a thought.
        Pure => "pure",
        /// Its effect happens once per key, and the call's id is the key: run again with the same id.
        Idempotent => "idempotent",
        /// Anything else. Never silently run again.
        Unsafe => "unsafe",
    }
}

/// What a kind says of its tools' effects, where it knows better than the tools. Each entry names
/// tools as [`crate::Kind::tools`] does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EffectClasses {
    /// Tools whose calls may be run again without a thought.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pure: Vec<String>,
    /// Tools whose calls may be run again with the same key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub idempotent: Vec<String>,
    /// Tools whose calls are never silently run again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub r#unsafe: Vec<String>,
}

impl EffectClasses {
    /// The classes with the names listed for each; the most careful first, which wins where a tool is
    /// named twice.
    #[must_use]
    pub fn listed(&self) -> [(Effect, &[String]); 3] {
        [(Effect::Unsafe, &self.r#unsafe), (Effect::Idempotent, &self.idempotent), (Effect::Pure, &self.pure)]
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed().iter().all(|(_, names)| names.is_empty())
    }
}
