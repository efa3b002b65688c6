//! Job runs: each job in its turn, as long as the engine is at work. A record holds what a job run found and
//! repaired, and when the next one is due, also for the next process.

use std::time::Duration;

use entourage_store::{Commit, Error as StoreError, Expect, Write};
use entourage_types::{JobRun, Scope, Time};

use super::{Job, jobs, record};
use crate::{Engine, Result};

/// The time from one run of a job to the next.
const EVERY: Duration = Duration::from_secs(300);

/// The record of a job, and the version in which it was read or written last.
struct StoredJob {
    run: JobRun,
    version: u64,
}

impl StoredJob {
    /// No other node has written the record since.
    fn unchanged(&self) -> Expect {
        Expect::version::<JobRun>(&self.run.job, self.version)
    }
}

impl Engine {
    /// Runs every job, and every round of health, when it is due, until the engine is [stopping](Engine::stopping). At its
    /// start it also wakes the agents for which the budgets of this process have room: they may be larger than those of
    /// the process before.
    ///
    /// A job run that fails is logged and tried again later: maintenance never ends the engine.
    pub async fn keep_up(&self) {
        // No job waits for that: many agents may.
        tokio::join!(self.wake_where_room(), self.run_jobs(), self.keep_healthy());
    }

    async fn run_jobs(&self) {
        while !self.stopping().is_cancelled() {
            let next = self.due_jobs().await.unwrap_or_else(|error| {
                tracing::error!(%error, "maintenance could not be done");
                self.now() + EVERY
            });
            tokio::select! {
                () = self.clock().sleep_until(next) => {}
                () = self.stopping().cancelled() => {}
            }
        }
    }

    /// Runs the jobs that are due. Returns when the next one is due.
    async fn due_jobs(&self) -> Result<Time> {
        let mut next = self.now() + EVERY;
        let mut new = Commit::new(self.now());
        for job in jobs() {
            let last = match record::<JobRun>(self, job.name()).await? {
                Some(last) if last.due <= self.now() => self.job_run(&*job).await?,
                Some(last) => last,
                None => {
                    let first = JobRun::before_the_first(job.name(), self.now() + EVERY);
                    new.push(Write::record(&first)?);
                    first
                }
            };
            next = next.min(last.due);
        }
        // The first due time is on record from the beginning, so that an engine that never runs for long runs
        // these jobs, too.
        if !new.writes.is_empty() {
            self.commit(new).await?;
        }
        Ok(next)
    }

    /// The last run of each job, in the order in which the jobs run.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn job_runs(&self) -> Result<Vec<(Box<dyn Job>, JobRun)>> {
        let mut runs = Vec::new();
        for job in jobs() {
            let last = self.last_run_of(&*job).await?.run;
            runs.push((job, last));
        }
        Ok(runs)
    }

    /// Runs one job now, whether it is due or not: finds inconsistencies, repairs them one by one, and
    /// records the job run. A crash in the middle leaves the rest for the next job run.
    ///
    /// # Errors
    /// When not even the record can be written.
    pub async fn job_run(&self, job: &dyn Job) -> Result<JobRun> {
        // A requested job run may coincide with one that is due: under the lock, neither counts what the
        // other repaired.
        let _alone = self.inner.job_lock.lock().await;
        let mut kept = self.last_run_of(job).await?;
        let began = Some(self.now());
        kept.run = JobRun { began, at: None, found: 0, repaired: 0, error: None, ..kept.run };
        if let Err(error) = self.find_and_repair(job, &mut kept).await {
            tracing::error!(job = job.name(), %error, "a job of maintenance failed");
            kept.run.error = Some(error.to_string());
        }
        kept.run.at = Some(self.now());
        kept.run.due = self.now() + EVERY;
        let commit = Commit::new(self.now()).expect(kept.unchanged()).write(Write::record(&kept.run)?);
        match self.commit(commit).await {
            Ok(_) => Ok(kept.run),
            // Another node has run the job meanwhile: its record stays, with what it counted.
            Err(StoreError::OtherVersion { .. }) => Ok(self.last_run_of(job).await?.run),
            Err(error) => Err(error.into()),
        }
    }

    async fn find_and_repair(&self, job: &dyn Job, kept: &mut StoredJob) -> Result<()> {
        for mut inconsistency in job.find(self).await? {
            kept.run.found += 1;
            tracing::warn!(job = job.name(), agent = %inconsistency.agent, "{}", inconsistency.text);
            // Counted in the commit that repairs it, so that a crash after it loses no count.
            let (repaired, repaired_ever) = (kept.run.repaired + 1, kept.run.repaired_ever + 1);
            let counted = JobRun { repaired, repaired_ever, ..kept.run.clone() };
            inconsistency.repair.push(Write::record(&counted)?);
            inconsistency.repair.expect.push(kept.unchanged());
            if self.repair(inconsistency).await? {
                *kept = StoredJob { run: counted, version: kept.version + 1 };
            }
        }
        Ok(())
    }

    async fn last_run_of(&self, job: &dyn Job) -> Result<StoredJob> {
        let found = self.store().versioned::<JobRun>(&Scope::All, job.name()).await?;
        Ok(found.map_or_else(
            || StoredJob { run: JobRun::before_the_first(job.name(), self.now() + EVERY), version: 0 },
            |found| StoredJob { run: found.record, version: found.version },
        ))
    }
}
