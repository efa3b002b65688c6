//! Maintenance, as the API shows it.

use entourage_engine::{FoundInconsistency, JobRecord};
use entourage_types::{AgentId, JobRun, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// A maintenance job, and its last run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobView {
    /// Its name.
    job: String,
    /// What it looks for.
    purpose: String,
    /// When its last run began; null if it has had none.
    #[schema(required, value_type = Option<schema::Time>)]
    began: Option<Time>,
    /// When that run ended; null while it is under way, and if a crash ended it.
    #[schema(required, value_type = Option<schema::Time>)]
    at: Option<Time>,
    /// When the next one is due.
    #[schema(value_type = schema::Time)]
    due: Time,
    /// How many inconsistencies the last run found.
    found: u32,
    /// How many of them it repaired; the others were gone by then.
    repaired: u32,
    /// How many were repaired in all job runs together.
    repaired_ever: u64,
    /// Why the last run was not completed; null if it was.
    #[schema(required)]
    error: Option<String>,
}

impl From<JobRecord> for JobView {
    fn from(JobRecord { purpose, job_run }: JobRecord) -> Self {
        let JobRun { job, began, at, due, found, repaired, repaired_ever, error } = job_run;
        Self { job, purpose, began, at, due, found, repaired, repaired_ever, error }
    }
}

/// An inconsistency in the store.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Inconsistency)]
pub(crate) struct InconsistencyView {
    /// The job that finds and repairs it.
    job: String,
    /// The agent that it keeps from continuing.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// What is wrong and what repairs it.
    text: String,
}

impl From<FoundInconsistency> for InconsistencyView {
    fn from(FoundInconsistency { job, agent, text }: FoundInconsistency) -> Self {
        Self { job, agent, text }
    }
}
