//! What a maintenance job found and did in its last run.

use serde::{Deserialize, Serialize};

use crate::{Columns, EntityKind, Owner, Record, Time, status::words};

/// The last run of one maintenance job. Each job has one record, owned by the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRun {
    /// The job's name.
    pub job: String,
    /// When its last run began.
    #[serde(default)]
    pub began: Option<Time>,
    /// When that run ended; none while it is under way, if a crash ended it, and before the first
    /// run.
    pub at: Option<Time>,
    /// When the next run is due.
    pub due: Time,
    /// How many inconsistencies the last run found.
    pub found: u32,
    /// How many of them it repaired; the others had disappeared before it could.
    pub repaired: u32,
    /// How many all runs of the job have repaired.
    pub repaired_ever: u64,
    /// Why the last run failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

impl JobRun {
    /// Creates the record of a job that has not run yet.
    #[must_use]
    pub fn before_the_first(job: &str, due: Time) -> Self {
        Self {
            job: job.to_owned(),
            began: None,
            at: None,
            due,
            found: 0,
            repaired: 0,
            repaired_ever: 0,
            error: None,
        }
    }
}

words! {
    /// How the last run of a job ended.
    JobRunStatus, "status of a job run" {
        /// It ended without an error, or has not ended yet.
        Done => "done",
        /// It failed.
        Failed => "failed",
    }
}

impl Record for JobRun {
    const KIND: EntityKind = EntityKind::JOB_RUN;
    type Status = JobRunStatus;

    fn columns(&self) -> Columns {
        let at = self.at.unwrap_or(self.due);
        let status = if self.error.is_some() { JobRunStatus::Failed } else { JobRunStatus::Done };
        Columns {
            id: self.job.clone(),
            owner: Owner::engine(),
            root: None,
            parent: None,
            status: status.as_str(),
            created: at,
            updated: at,
            name: None,
            text: None,
        }
    }
}
