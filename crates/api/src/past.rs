//! A tree as it was.

use entourage_types::{AgentId, Cost, ShownStatus, StopReason, Time, WaitingOn};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Tree, Usage, schema};

/// As of when to show a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ShowTree {
    /// As it was after the event with this number; by default as it is.
    #[param(minimum = 1)]
    pub at: Option<u64>,
}

/// Into how many parts to divide the events of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ShowTimeline {
    /// At most so many buckets; 60 by default.
    #[param(minimum = 1, maximum = 200)]
    pub buckets: u32,
}

impl Default for ShowTimeline {
    fn default() -> Self {
        Self { buckets: 60 }
    }
}

/// Some events of a tree that follow each other. `GET /v1/agents/{id}/tree?at=` shows the tree after any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimelineBucket {
    /// The number of the first one.
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
    /// When the first one happened.
    #[schema(value_type = schema::Time)]
    pub began: Time,
    /// When the last one happened.
    #[schema(value_type = schema::Time)]
    pub ended: Time,
}

/// A tree as it is, or, with `at`, as it was.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ShownTree {
    /// As it is.
    Now(Box<Tree>),
    /// As it was.
    Then(PastTree),
}

/// A tree as it was after one of its events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PastTree {
    /// Its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The number of the event.
    pub at: u64,
    /// When that happened.
    #[schema(value_type = schema::Time)]
    pub time: Time,
    /// The number of the tree's last event so far.
    pub last: u64,
    /// The agents that there were, in the order in which they were created: parents before children.
    pub agents: Vec<PastAgent>,
}

/// An agent as it was after an event of its tree: as much as events tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PastAgent {
    /// Its id.
    #[schema(value_type = schema::AgentId)]
    pub id: AgentId,
    /// The agent above it; null at the top of a tree.
    #[schema(value_type = Option<schema::AgentId>, required)]
    pub parent: Option<AgentId>,
    /// How many agents are above it.
    pub depth: u16,
    /// The name of its kind.
    pub kind: String,
    /// What it was for, in a few words.
    pub title: String,
    /// Its status.
    #[schema(value_type = schema::ShownStatus)]
    pub status: ShownStatus,
    /// What it waited on, if it waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::WaitingOn>)]
    pub waiting_on: Option<WaitingOn>,
    /// Why its last run failed or was stopped, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::StopReason>)]
    pub stop_reason: Option<StopReason>,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// Since when it had this status.
    #[schema(value_type = schema::Time)]
    pub since: Time,
    /// The tokens of its runs; those of a run under way only up to when it last began, woke or went to sleep, because
    /// no event tells those of its calls since.
    pub usage: Usage,
    /// What they cost, as far as prices were known.
    #[schema(value_type = schema::Cost)]
    pub cost: Cost,
}
