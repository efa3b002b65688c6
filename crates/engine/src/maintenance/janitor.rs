//! The job runs: each job in its turn, for as long as the engine is at work. What a job run found and did
//! is on record, and so is when the next one is due, whoever runs the engine then.

use std::time::Duration;

use entourage_store::{Commit, Write};
use entourage_types::{JobRun, Record, Time};

use super::{Job, jobs, record};
use crate::{Engine, Result};

/// From one job run of a job to its next.
const EVERY: Duration = Duration::from_secs(300);

impl Engine {
    /// Does every job's job runs when they are due, until the engine is [stopping](Engine::stopping).
    ///
    /// A job run that fails is told of and tried again later: maintenance never ends the engine.
    pub async fn keep_up(&self) {
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

    /// Does the job runs that are due. Returns when the next one is.
    async fn due_jobs(&self) -> Result<Time> {
        let mut next = self.now() + EVERY;
        let mut new = Commit::new(self.now());
        for job in jobs() {
            let last = match record::<JobRun>(self, job.name()).await? {
                Some(last) if last.due <= self.now() => self.job_run(&*job).await?,
                Some(last) => last,
                None => {
                    let first = JobRun::before_the_first(job.name(), self.now() + EVERY);
                    new.push(Write::Entity(first.entity()?));
                    first
                }
            };
            next = next.min(last.due);
        }
        // On record from the beginning, so that an engine that never runs for long comes to them too.
        if !new.writes.is_empty() {
            self.commit(new).await?;
        }
        Ok(next)
    }

    /// The last run of each job, in the order in which they are done.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn rounds(&self) -> Result<Vec<(Box<dyn Job>, JobRun)>> {
        let mut rounds = Vec::new();
        for job in jobs() {
            let last = self.last_run_of(&*job).await?;
            rounds.push((job, last));
        }
        Ok(rounds)
    }

    /// Does a job run of one job now, whether it is due or not: finds what is wrong, repairs it one by one,
    /// and leaves a record. A crash in the middle leaves the rest for the next job run.
    ///
    /// # Errors
    /// When not even the record can be kept.
    pub async fn job_run(&self, job: &dyn Job) -> Result<JobRun> {
        // One that a person asks for may meet one that is due: neither counts what the other repaired.
        let _alone = self.inner.rounds.lock().await;
        let last = self.last_run_of(job).await?;
        let mut job_run =
            JobRun { began: Some(self.now()), at: None, found: 0, repaired: 0, error: None, ..last };
        if let Err(error) = self.find_and_mend(job, &mut job_run).await {
            tracing::error!(job = job.name(), %error, "a job_run of maintenance failed");
            job_run.error = Some(error.to_string());
        }
        job_run.at = Some(self.now());
        job_run.due = self.now() + EVERY;
        let commit = Commit::new(self.now()).write(Write::Entity(job_run.entity()?));
        self.commit(commit).await?;
        Ok(job_run)
    }

    async fn find_and_mend(&self, job: &dyn Job, job_run: &mut JobRun) -> Result<()> {
        for mut inconsistency in job.find(self).await? {
            job_run.found += 1;
            tracing::warn!(job = job.name(), agent = %inconsistency.agent, "{}", inconsistency.text);
            // Counted in the commit that repairs it, so that a crash behind it forgets nothing.
            let (repaired, repaired_ever) = (job_run.repaired + 1, job_run.repaired_ever + 1);
            let counted = JobRun { repaired, repaired_ever, ..job_run.clone() };
            inconsistency.repair.push(Write::Entity(counted.entity()?));
            if self.repair(inconsistency).await? {
                *job_run = counted;
            }
        }
        Ok(())
    }

    async fn last_run_of(&self, job: &dyn Job) -> Result<JobRun> {
        let known = record::<JobRun>(self, job.name()).await?;
        Ok(known.unwrap_or_else(|| JobRun::before_the_first(job.name(), self.now() + EVERY)))
    }
}
