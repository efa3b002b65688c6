//! Sums of usage: the dimensions to add up by, and the rows of the result.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Day, Owner, RunId, Tally, Time, status::words};

words! {
    /// A dimension by which usage is added up.
    UsageBy, "thing to add usage up by" {
        /// The day in UTC.
        Day => "day",
        /// The hour in UTC.
        Hour => "hour",
        /// The model.
        Model => "model",
        /// The owner.
        Owner => "owner",
        /// The kind of agent.
        Kind => "kind",
        /// The tree, named by its root.
        Tree => "tree",
        /// The agent.
        Agent => "agent",
        /// The run.
        Run => "run",
    }
}

/// One sum. Dimensions that it was not added up by are none, as are those that are no longer known:
/// of removed runs, the engine still knows owner, day, hour, model and kind, and of usage from before hours were
/// kept no hour.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageRow {
    /// The day.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub day: Option<Day>,
    /// When the hour begins.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hour: Option<Time>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// The owner.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub owner: Option<Owner>,
    /// The kind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<String>,
    /// The tree.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tree: Option<AgentId>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<AgentId>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<RunId>,
    /// The sum.
    #[serde(flatten)]
    pub tally: Tally,
}
