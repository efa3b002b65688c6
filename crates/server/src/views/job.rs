//! Maintenance.

use entourage_api::{Inconsistency, Job};
use entourage_engine::{FoundInconsistency, JobRecord};
use entourage_types::JobRun;

pub(crate) fn job(JobRecord { purpose, job_run }: JobRecord) -> Job {
    let JobRun { job, began, at, due, found, repaired, repaired_ever, error } = job_run;
    Job { job, purpose, began, at, due, found, repaired, repaired_ever, error }
}

pub(crate) fn inconsistency(FoundInconsistency { job, agent, text }: FoundInconsistency) -> Inconsistency {
    Inconsistency { job, agent, text }
}
