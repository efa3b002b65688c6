//! The rounds: each job in its turn, for as long as the engine is at work. What a round found and did
//! is on record, and so is when the next one is due, whoever runs the engine then.

use std::time::Duration;

use entourage_store::{Commit, Write};
use entourage_types::{Record, Round, Time};

use super::{Job, jobs, record};
use crate::{Engine, Result};

/// From one round of a job to its next.
const EVERY: Duration = Duration::from_secs(300);

impl Engine {
    /// Does every job's rounds when they are due, until the engine is [stopping](Engine::stopping).
    ///
    /// A round that fails is told of and tried again later: upkeep never ends the engine.
    pub async fn keep_up(&self) {
        while !self.stopping().is_cancelled() {
            let next = self.due_rounds().await.unwrap_or_else(|error| {
                tracing::error!(%error, "upkeep could not be done");
                self.now() + EVERY
            });
            tokio::select! {
                () = self.clock().sleep_until(next) => {}
                () = self.stopping().cancelled() => {}
            }
        }
    }

    /// Does the rounds that are due. Returns when the next one is.
    async fn due_rounds(&self) -> Result<Time> {
        let mut next = self.now() + EVERY;
        let mut new = Commit::new(self.now());
        for job in jobs() {
            let last = match record::<Round>(self, job.name()).await? {
                Some(last) if last.due <= self.now() => self.round(&*job).await?,
                Some(last) => last,
                None => {
                    let first = Round::before_the_first(job.name(), self.now() + EVERY);
                    new.push(Write::Entity(first.entity()?));
                    first
                }
            };
            next = next.min(last.due);
        }
        // On record from the beginning, so that a engine that never runs for long comes to them too.
        if !new.writes.is_empty() {
            self.commit(new).await?;
        }
        Ok(next)
    }

    /// The last round of each job, in the order in which they are done.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn rounds(&self) -> Result<Vec<(Box<dyn Job>, Round)>> {
        let mut rounds = Vec::new();
        for job in jobs() {
            let last = self.last_round(&*job).await?;
            rounds.push((job, last));
        }
        Ok(rounds)
    }

    /// Does a round of one job now, whether it is due or not: finds what is wrong, mends it one by one,
    /// and leaves a record. A crash in the middle leaves the rest for the next round.
    ///
    /// # Errors
    /// When not even the record can be kept.
    pub async fn round(&self, job: &dyn Job) -> Result<Round> {
        // One that a person asks for may meet one that is due: neither counts what the other mended.
        let _alone = self.inner.rounds.lock().await;
        let last = self.last_round(job).await?;
        let mut round = Round { began: Some(self.now()), at: None, found: 0, mended: 0, error: None, ..last };
        if let Err(error) = self.find_and_mend(job, &mut round).await {
            tracing::error!(job = job.name(), %error, "a round of upkeep failed");
            round.error = Some(error.to_string());
        }
        round.at = Some(self.now());
        round.due = self.now() + EVERY;
        let commit = Commit::new(self.now()).write(Write::Entity(round.entity()?));
        self.commit(commit).await?;
        Ok(round)
    }

    async fn find_and_mend(&self, job: &dyn Job, round: &mut Round) -> Result<()> {
        for mut damage in job.find(self).await? {
            round.found += 1;
            tracing::warn!(job = job.name(), agent = %damage.agent, "{}", damage.text);
            // Counted in the commit that mends it, so that a crash behind it forgets nothing.
            let (mended, mended_ever) = (round.mended + 1, round.mended_ever + 1);
            let counted = Round { mended, mended_ever, ..round.clone() };
            damage.mend.push(Write::Entity(counted.entity()?));
            if self.mend(damage).await? {
                *round = counted;
            }
        }
        Ok(())
    }

    async fn last_round(&self, job: &dyn Job) -> Result<Round> {
        let known = record::<Round>(self, job.name()).await?;
        Ok(known.unwrap_or_else(|| Round::before_the_first(job.name(), self.now() + EVERY)))
    }
}
