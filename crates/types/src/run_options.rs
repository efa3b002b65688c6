//! What the author of a message may set for the run that answers it.

use serde::{Deserialize, Serialize};

use crate::Parent;

/// What applies to the run that answers a message, in addition to the limits of its kind. A message
/// with options is answered by a run of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOptions {
    /// The delegation depth: how many agents are between this run and the person who started the
    /// work.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u16,
    /// How deep work may be delegated, here and below; the limit of each kind if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u16>,
    /// Model calls in this run, unless its kind allows fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// The output guardrail that its answer must pass in addition to those of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validator: Option<String>,
    /// What the author had before them when they wrote, as a hint: an open document, for example (S5-R049).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<Parent>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(depth: &u16) -> bool {
    *depth == 0
}
