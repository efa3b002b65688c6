//! Rounds of health: every few minutes as long as the engine is at work, and when the operator asks for one. A record
//! holds when the next one is due, also for the next process.

use entourage_store::{Commit, Error as StoreError, Expect, Write};
use entourage_types::{HealthAct, JobRun, Scope, Time, Wakeup};

use super::{Finding, HealthRound, OpenRun, Remedy, cut, finished, finished::Finished, open, paused, stale};
use crate::{Engine, Result};

/// The name of the record.
const NAME: &str = "health";

impl Engine {
    /// Does a round whenever one is due, until the engine is [stopping](Engine::stopping). A round that fails is logged,
    /// and the next one follows when it is due.
    pub(crate) async fn keep_healthy(&self) {
        while !self.stopping().is_cancelled() {
            let next = self.due_round().await.unwrap_or_else(|error| {
                tracing::error!(%error, "a round of health could not be done");
                self.now() + self.health().every
            });
            tokio::select! {
                () = self.clock().sleep_until(next) => {}
                () = self.stopping().cancelled() => {}
            }
        }
    }

    /// Does a round if one is due. Returns when the next one is.
    async fn due_round(&self) -> Result<Time> {
        let last = self.store().record::<JobRun>(&Scope::All, NAME).await?;
        let latest = self.now() + self.health().every;
        match last {
            // The settings may want it sooner than those of the process before.
            Some(last) if last.due > self.now() => Ok(last.due.min(latest)),
            Some(_) => self.health_round(false).await.map(|_| self.now() + self.health().every),
            None => {
                let first = JobRun::before_the_first(NAME, latest);
                self.commit(Commit::new(self.now()).write(Write::record(&first)?)).await?;
                Ok(latest)
            }
        }
    }

    /// Does a round now, whether one is due or not. A dry one only looks. What one rule has ended, the next need not
    /// find; a crash in the middle leaves the rest for the next round.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn health_round(&self, is_dry: bool) -> Result<HealthRound> {
        // Two at once would report what the other did.
        let _alone = self.inner.job_lock.lock().await;
        let began = self.now();
        let Finished { found, mut next, behind } = self.unhealthy().await?;
        let first_behind = found.len().saturating_sub(behind);
        let cuts = found.iter().filter(|finding| finding.report.what == HealthAct::Cut).count();
        let mut reports = Vec::new();
        for (at, Finding { mut report, remedy }) in found.into_iter().enumerate() {
            if !is_dry {
                let task = match &remedy {
                    Remedy::Forget(task) => Some(task.id),
                    _ => None,
                };
                match self.apply(remedy).await {
                    Ok(true) => {}
                    Ok(false) => {
                        report.what = HealthAct::LeftAlone;
                        report.why = format!("it went on meanwhile; before, {}", report.why);
                    }
                    // The others are looked after nevertheless; this one is, once the rounds have gone through all.
                    Err(error) => {
                        tracing::error!(agent = %report.agent, %error, "health: nothing could be done");
                        report.what = HealthAct::LeftAlone;
                        report.why = format!("it could not be done ({error}); {}", report.why);
                    }
                }
                // The next round must not find it again before all others.
                if report.what == HealthAct::LeftAlone && at >= first_behind {
                    task.into_iter().for_each(|task| next.pass(task));
                }
                tracing::info!(agent = %report.agent, what = %report.what, "health: {}", report.why);
            }
            reports.push(report);
        }
        let round = HealthRound { is_dry, reports };
        if !is_dry {
            self.inner.health.round_done(cuts, next);
            self.record_round(began, &round).await?;
        }
        Ok(round)
    }

    /// What the rules find at this moment, and how far they have looked for what has ended.
    async fn unhealthy(&self) -> Result<Finished> {
        let open = open::all(self).await?;
        let mut found = cut::find(self);
        found.extend(paused::find(self, &open).await?);
        found.extend(stale::find(self, &open).await?);
        let Finished { found: old, next, behind } =
            finished::find(self, self.inner.health.looked_to()).await?;
        found.extend(old);
        Ok(Finished { found, next, behind })
    }

    /// Does what a rule found necessary. Returns false if it is not any more.
    async fn apply(&self, remedy: Remedy) -> Result<bool> {
        match remedy {
            Remedy::None => Ok(true),
            Remedy::Wake(OpenRun { agent, .. }) => {
                let now = self.now();
                let wakeup = Wakeup::new(agent.id, agent.owner, now);
                let wakes =
                    Commit::new(now).expect(Expect::Living(agent.id)).write(Write::ScheduleWakeup(wakeup));
                match self.commit(wakes).await {
                    Ok(_) => Ok(true),
                    Err(
                        StoreError::NoAgent { .. } | StoreError::Deleted { .. } | StoreError::HasEnded { .. },
                    ) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            }
            Remedy::End(OpenRun { agent, .. }, neglect) => self.end_neglected(&agent, neglect).await,
            Remedy::Forget(task) => finished::forget(self, task).await,
        }
    }

    /// Records what a round did, and when the next one is due.
    async fn record_round(&self, began: Time, round: &HealthRound) -> Result<()> {
        let found = u32::try_from(round.reports.len()).unwrap_or(u32::MAX);
        let left = round.reports.iter().filter(|report| report.what == HealthAct::LeftAlone).count();
        let repaired = found.saturating_sub(u32::try_from(left).unwrap_or(u32::MAX));
        let last = self.store().versioned::<JobRun>(&Scope::All, NAME).await?;
        let (version, ever) = last.map_or((0, 0), |last| (last.version, last.record.repaired_ever));
        let at = self.now();
        let done = JobRun {
            began: Some(began),
            at: Some(at),
            found,
            repaired,
            repaired_ever: ever + u64::from(repaired),
            ..JobRun::before_the_first(NAME, at + self.health().every)
        };
        let commit =
            Commit::new(at).expect(Expect::version::<JobRun>(NAME, version)).write(Write::record(&done)?);
        match self.commit(commit).await {
            // Another node did a round meanwhile, and its record stays.
            Ok(_) | Err(StoreError::OtherVersion { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
