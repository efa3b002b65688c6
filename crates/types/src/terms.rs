//! What whoever writes a message may say of the run that answers it.

use serde::{Deserialize, Serialize};

/// What holds for the run that answers a message, beside the limits of its kind. A message with terms
/// is answered by a run of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// How many agents stand between this run and the person who began it all.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u16,
    /// How deep work may be handed on, here and below; as deep as each kind says when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u16>,
    /// Model calls in this run, where its kind does not allow fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// The check that its answer must pass beside those of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validator: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(depth: &u16) -> bool {
    *depth == 0
}
