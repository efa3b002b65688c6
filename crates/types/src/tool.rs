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
    /// Where its results come from. The engine sets it to what the tool declares. No provider receives it, but a weak
    /// model is offered its tools accordingly.
    #[serde(default, skip_serializing_if = "ResultSource::is_private")]
    pub source: ResultSource,
}

impl ToolSpec {
    /// Creates the specification of a tool.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        let (name, description, source) = (name.into(), description.into(), ResultSource::default());
        Self { name, description, parameters, source }
    }
}

words! {
    /// Where the results of a tool come from.
    #[derive(Default)]
    ResultSource, "source of results" {
        /// The agents of the tree themselves: their messages, notes and memory.
        Agents => "agents",
        /// The person who owns the agents.
        Person => "person",
        /// Content that anyone may read on the public web, without anything that the agent wrote itself.
        Public => "public",
        /// Anything else: files, connected servers, the operator's own programs.
        #[default]
        Private => "private",
    }
}

impl ResultSource {
    /// Whether it is private.
    #[must_use]
    pub fn is_private(&self) -> bool {
        *self == Self::Private
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_an_earlier_release_reads_as_private_and_is_written_as_it_was() {
        let stored = r#"{"name":"pay","description":"Pays.","parameters":{}}"#;
        let spec: ToolSpec = serde_json::from_str(stored).unwrap();
        assert_eq!(spec.source, ResultSource::Private);
        assert_eq!(serde_json::to_string(&spec).unwrap(), stored);
        let spec = ToolSpec { source: ResultSource::Agents, ..spec };
        let stored = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<ToolSpec>(&stored).unwrap(), spec);
    }
}
