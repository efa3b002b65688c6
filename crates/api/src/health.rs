//! Health: what is done about tasks and goals that make no progress.

use entourage_types::{AgentId, HealthAct};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// How a round of health is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunHealth {
    /// Whether it only says what it would do, and changes nothing.
    pub dry_run: Option<bool>,
}

/// What a round of health did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthRound {
    /// Whether nothing was changed: then this is what it would do.
    pub dry_run: bool,
    /// What it did, in the order in which it did so.
    pub reports: Vec<HealthReport>,
}

/// What a round of health did about one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthReport {
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// What was done.
    #[schema(value_type = schema::HealthAct)]
    pub what: HealthAct,
    /// Why, in a sentence.
    pub why: String,
}
