//! The agent's row and its wake-ups, as an activation writes them.

use entourage_store::Write;
use entourage_types::{Status, StopReason, Time, WaitingOn, Wakeup, WakeupId};

use super::Run;

impl Run<'_> {
    /// Sets the agent's status and returns the write of its row.
    pub(super) fn agent_row(&mut self, status: Status, waiting_on: Option<WaitingOn>, at: Time) -> Write {
        self.agent.status = status;
        self.agent.waiting_on = waiting_on;
        self.agent.stop_reason = None;
        self.agent.updated = at;
        Write::Agent(self.agent.clone())
    }

    /// Sets the agent to the status of its ended run, with the reason if that failed, and returns the write
    /// of its row.
    pub(super) fn rested_row(&mut self, status: Status, why: Option<StopReason>, at: Time) -> Write {
        self.agent_row(status, None, at);
        self.agent.stop_reason = why.filter(|_| status == Status::Failed);
        Write::Agent(self.agent.clone())
    }

    /// Returns the write that sets a sleeping agent to running; none if its row says so already.
    pub(super) fn awake(&mut self, at: Time) -> Option<Write> {
        (self.agent.status != Status::Running).then(|| self.agent_row(Status::Running, None, at))
    }

    /// Returns the writes that store the run as running, and the agent too if its row says otherwise.
    pub(super) fn resumed(&mut self, at: Time) -> impl Iterator<Item = Write> + use<> {
        [self.record.write(Status::Running, None)].into_iter().chain(self.awake(at))
    }

    /// The same, without the run's row if that says so already and has not changed.
    pub(super) fn resumed_if_asleep(&mut self, at: Time) -> impl Iterator<Item = Write> + use<> {
        let sleeps = self.record.status != Status::Running;
        let run = sleeps.then(|| self.record.write(Status::Running, None));
        run.into_iter().chain(self.awake(at))
    }

    /// Returns the write that wakes the agent at this time.
    pub(super) fn wake_at(&self, due: Time) -> Write {
        self.wake_by(WakeupId::new(), due)
    }

    /// The same, by a wake-up of this id.
    pub(super) fn wake_by(&self, id: WakeupId, due: Time) -> Write {
        let wakeup = Wakeup::new(self.agent.id, self.agent.owner.clone(), due);
        Write::ScheduleWakeup(Wakeup { id, ..wakeup })
    }
}
