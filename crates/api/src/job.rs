//! Maintenance.

use entourage_types::{AgentId, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// A maintenance job, and its last run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its name.
    pub job: String,
    /// What it looks for.
    pub purpose: String,
    /// When its last run began; null if it has had none.
    #[schema(required, value_type = Option<schema::Time>)]
    pub began: Option<Time>,
    /// When that run ended; null while it is under way, and if a crash ended it.
    #[schema(required, value_type = Option<schema::Time>)]
    pub at: Option<Time>,
    /// When the next one is due.
    #[schema(value_type = schema::Time)]
    pub due: Time,
    /// How many inconsistencies the last run found.
    pub found: u32,
    /// How many of them it repaired; the others were gone by then.
    pub repaired: u32,
    /// How many were repaired in all job runs together.
    pub repaired_ever: u64,
    /// Why the last run was not completed; null if it was.
    #[schema(required)]
    pub error: Option<String>,
}

/// An inconsistency in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Inconsistency {
    /// The job that finds and repairs it.
    pub job: String,
    /// The agent that it keeps from continuing.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// What is wrong and what repairs it.
    pub text: String,
}
