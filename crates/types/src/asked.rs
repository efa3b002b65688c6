//! How a model was asked.

use serde::{Deserialize, Serialize};

use crate::{FailureClass, Sha256, Time};

/// How the model was asked for a turn, a decision or a summary: what proves the request that is rebuilt from rows, and how long the
/// answer took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The digest of the request.
    pub sha256: Sha256,
    /// The digest of the tools that were offered, under which they are stored; none if they are those of the
    /// turn before in the same session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tools: Option<Sha256>,
    /// The model that was asked, if that is not the one of the kind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// The most tokens that the model was allowed to answer with; none if that was not limited.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_tokens: Option<u32>,
    /// When the answered request was made.
    pub at: Time,
    /// When the first piece of the answer came; none if it came whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_token: Option<Time>,
    /// How long the request waited for the model's gate, in milliseconds.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub gate_ms: u64,
    /// The attempts before, which failed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failed: Vec<FailedTry>,
    /// Whether the run slept because no model could be asked yet, which is no attempt: people were told of it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub held_back: bool,
}

/// How a model was asked for a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedSummary {
    /// How it was asked.
    pub asked: Asked,
    /// How many characters of the conversation it read at most.
    pub read: usize,
}

/// A request to a model that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTry {
    /// When it was made.
    pub at: Time,
    /// The model that was asked, if that is not the one of the kind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// What sort of failure it was; none if an earlier release recorded it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub class: Option<FailureClass>,
    /// Why it failed.
    pub error: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
