//! The limits of a run, looked at before each model call. The first one met ends the run with its
//! name as the reason.

use std::time::Duration;

use entourage_types::{ItemBody, StopReason};

use super::{Interrupt, Result, Run, stall};

impl Run<'_> {
    /// Ends the run when a limit is met.
    pub(super) fn within_limits(&self) -> Result<()> {
        let limits = &self.kind().limits;
        let (reason, said) = if self.record.model_calls >= self.max_steps() {
            let most = self.max_steps();
            (StopReason::MaxSteps, format!("{most} model calls were made, the most for one run"))
        } else if let Some(met) = self.overspent() {
            met
        } else if self.worked() >= Duration::from_secs(limits.max_seconds) {
            (StopReason::MaxTime, format!("{} seconds were worked, the most for one run", limits.max_seconds))
        } else if let Some(tool) = self.repeated(limits.max_same_tool) {
            (StopReason::SameTool, format!("`{tool}` was called {} times in a row", limits.max_same_tool))
        } else if let Some(said) = stall::found(&self.items, limits.max_repeats as usize) {
            (StopReason::Stalled, said)
        } else {
            return Ok(());
        };
        Err(Interrupt::Stopped(reason, said))
    }

    /// How long this run has been at work, in this activation and in those before.
    pub(super) fn worked(&self) -> Duration {
        Duration::from_millis(self.record.worked_ms) + self.house.now().since(self.began)
    }

    /// The tool that all of this run's last `times` calls asked for.
    fn repeated(&self, times: u32) -> Option<&str> {
        let of_run = self.items.iter().rev().take_while(|item| item.run == self.record.id);
        let mut calls = of_run
            .filter_map(|item| match &item.body {
                ItemBody::Turn(turn) => Some(turn.calls.iter().rev()),
                _ => None,
            })
            .flatten()
            .take(times as usize);
        let last = calls.next()?;
        let mut same = 1;
        for call in calls {
            if call.tool != last.tool {
                return None;
            }
            same += 1;
        }
        (same == times).then_some(last.tool.as_str())
    }
}
