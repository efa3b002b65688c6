//! The tasks that the agents of a kind create with `create_task`, and go on beside.

use serde::{Deserialize, Serialize};

use crate::{OnEnd, status::words};

/// What a kind says about the tasks that its agents create with `create_task` (S4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreatedTasks {
    /// The kind that works on them, each with an agent of its own.
    pub kind: String,
    /// What the end of one does.
    #[serde(skip_serializing_if = "OnTaskEnd::is_default", default)]
    pub on_end: OnTaskEnd,
}

words! {
    /// What the end of a task does to the agent that created it.
    #[derive(Default)]
    OnTaskEnd, "end of a created task" {
        /// Nothing: what it came to is on record, and stands in the section `tasks` from the next run on.
        #[default]
        Quiet => "quiet",
        /// It arrives as a message, which wakes the agent.
        Wake => "wake",
    }
}

impl OnTaskEnd {
    /// Whether a kind need not say it.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl From<OnTaskEnd> for OnEnd {
    fn from(end: OnTaskEnd) -> Self {
        match end {
            OnTaskEnd::Quiet => Self::Quiet,
            OnTaskEnd::Wake => Self::Wake,
        }
    }
}
