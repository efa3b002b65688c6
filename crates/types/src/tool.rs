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
    /// What a call does to the world, which determines what a crash during the call means.
    Effect, "class of effect" {
        /// It reads, or writes only through its outcome: it can be run again freely.
        Pure => "pure",
        /// Its effect happens once per key, and the call's id is the key: it is run again with the
        /// same id.
        Idempotent => "idempotent",
        /// Any other effect. The engine never runs it again silently.
        Unsafe => "unsafe",
    }
}

/// The effect classes by which a kind overrides what the tools declare. Each entry names tools as
/// [`crate::Kind::tools`] does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EffectClasses {
    /// Tools whose calls can be run again freely.
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
    /// The classes with the names listed for each; the strictest first, which wins if a tool is
    /// named twice.
    #[must_use]
    pub fn listed(&self) -> [(Effect, &[String]); 3] {
        [(Effect::Unsafe, &self.r#unsafe), (Effect::Idempotent, &self.idempotent), (Effect::Pure, &self.pure)]
    }

    /// Whether it lists no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed().iter().all(|(_, names)| names.is_empty())
    }
}
