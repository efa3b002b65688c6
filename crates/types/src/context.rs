//! What a kind's model gets to see beside its instructions, and for how long.

use serde::{Deserialize, Serialize};

use crate::status::words;

/// What a kind's model gets to see beside its instructions, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextPolicy {
    /// The sections behind the conversation, in this order.
    pub sections: Vec<Section>,
}

impl Default for ContextPolicy {
    fn default() -> Self {
        Self { sections: vec![Section::Time, Section::Learnings] }
    }
}

words! {
    /// What stands behind the conversation and changes from request to request.
    Section, "section" {
        /// What time it is, to the minute.
        Time => "time",
        /// The latest notes of the tree.
        Notes => "notes",
        /// What the agent has learned, where it has the tool to save it.
        Learnings => "learnings",
    }
}
