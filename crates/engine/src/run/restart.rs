//! A run that is taken up after the process that worked on it ended. One that ends its process each time, by
//! what it reads or by the memory it takes, must not do so for ever: nobody else's agents would get on either.
//!
//! How often in a row that happened is on record, since the process that counts in memory is gone. A restart
//! counts until anything else is written of the run, and an orderly end of the process takes it back.

use std::{sync::Arc, time::Duration};

use entourage_store::{Error as StoreError, Write};
use entourage_types::{Status, Step, StepState, Time};
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::{Interrupt, Result, Run};

/// The key of the step that counts.
const KEY: &str = "restart";

/// From so many restarts in a row, runs are taken up one at a time, each until it has got somewhere: the one
/// that is at fault is then alone when the process ends, and the others are not ended with it.
const ALONE_FROM: u32 = 3;

/// For how long a run waits for that; then it goes on beside the others.
const PATIENCE: Duration = Duration::from_secs(600);

/// A restart that this activation has counted, until it writes anything else.
pub(super) struct Restart {
    /// How many there had been in a row before it.
    before: u32,
    /// Held by the one that is taken up alone.
    _alone: Option<OwnedMutexGuard<()>>,
}

impl Run<'_> {
    /// Puts on record that the run is taken up again, where the process before this one left it at work.
    ///
    /// # Errors
    /// [`Interrupt::Stopped`] where that has happened too often with nothing done in between.
    pub(super) async fn count_restart(&mut self) -> Result<()> {
        let Some(before) = self.restarts() else { return Ok(()) };
        if before >= self.house.inner.give_up_after {
            let cause = "the server ended while this was worked on";
            let said = format!("{cause}, {before} times in a row, and nothing was done in between");
            return Err(Interrupt::failed(said));
        }
        let alone = if before >= ALONE_FROM { self.be_alone().await } else { None };
        if self.cut.is_cancelled() {
            return Err(Interrupt::Stopping);
        }
        self.commit(vec![self.restart_step(before + 1)]).await?;
        self.restart = Some(Restart { before, _alone: alone });
        Ok(())
    }

    /// Waits until no other run is taken up alone, as long as that is worth it.
    async fn be_alone(&mut self) -> Option<OwnedMutexGuard<()>> {
        let (clock, before) = (self.house.clock(), self.house.now());
        let place = Arc::clone(&self.house.inner.alone).lock_owned();
        let got = tokio::select! {
            biased;
            () = self.cut.cancelled() => None,
            place = self.pulse.beating(&**clock, place) => Some(place),
            () = clock.sleep_until(before + PATIENCE) => None,
        };
        // The run has not worked meanwhile.
        self.began = self.began + self.house.now().since(before);
        got
    }

    /// Takes back what this activation has counted, if nothing was written since: the process ends in order.
    pub(super) async fn take_back_restart(&mut self) -> Result<(), StoreError> {
        let Some(Restart { before, .. }) = self.restart.take() else { return Ok(()) };
        let step = self.restart_step(before);
        let mut commit = self.fenced(self.house.now());
        commit.push(step);
        self.house.inner.store.commit(commit).await.map(drop)
    }

    /// How many restarts in a row the run had, if it is taken up after one now.
    fn restarts(&self) -> Option<u32> {
        let counted = self.steps.get(KEY);
        let done = self.done_last();
        let written = counted.map_or(done, |counted| counted.updated.max(done));
        let is_left = self.opened && self.record.status == Status::Running;
        if !is_left || written >= self.house.inner.began {
            return None;
        }
        Some(counted.filter(|counted| counted.updated > done).map_or(0, |counted| counted.attempt))
    }

    /// When anything of the run was written last, but for what counts its restarts.
    fn done_last(&self) -> Time {
        let items = self.items.iter().rev().find(|item| item.run == self.record.id).map(|item| item.at);
        let steps = self.steps.values().filter(|step| step.key != KEY).map(|step| step.updated);
        steps.chain(items).fold(self.record.started, Time::max)
    }

    fn restart_step(&self, attempt: u32) -> Write {
        let step = self.step(KEY, StepState::Done, Value::Null, self.house.now());
        Write::Step(Step { attempt, ..step })
    }
}
