//! The upkeep, as the API shows it.

use entourage_engine::{FoundDamage, JobRecord};
use entourage_types::{AgentId, Round, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// A job of the upkeep, and its last round.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobView {
    /// Its name.
    job: String,
    /// What it looks for.
    purpose: String,
    /// When its last round began; null where it has had none.
    #[schema(required, value_type = Option<schema::Time>)]
    began: Option<Time>,
    /// When that was over; null while it is not, also where a crash ended it.
    #[schema(required, value_type = Option<schema::Time>)]
    at: Option<Time>,
    /// When the next one is due.
    #[schema(value_type = schema::Time)]
    due: Time,
    /// How many damages the last round found.
    found: u32,
    /// How many of them it mended; others were gone by then.
    mended: u32,
    /// How many were mended in all rounds together.
    mended_ever: u64,
    /// Why the last round came to no end; null where it did.
    #[schema(required)]
    error: Option<String>,
}

impl From<JobRecord> for JobView {
    fn from(JobRecord { purpose, round }: JobRecord) -> Self {
        let Round { job, began, at, due, found, mended, mended_ever, error } = round;
        Self { job, purpose, began, at, due, found, mended, mended_ever, error }
    }
}

/// Something that should not be.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Damage)]
pub(crate) struct DamageView {
    /// The job that finds and mends it.
    job: String,
    /// The agent that it keeps from going on.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// What is wrong and what mends it.
    text: String,
}

impl From<FoundDamage> for DamageView {
    fn from(FoundDamage { job, agent, text }: FoundDamage) -> Self {
        Self { job, agent, text }
    }
}
