//! The rows that an activation writes, in their current state.

use entourage_store::Write;
use entourage_types::{
    Agent, Kind, Run as RunRow, RunId, Status, StopReason, Time, WaitingOn, Wakeup, WakeupId,
};

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

    /// Returns the write that wakes the agent at this time.
    pub(super) fn wake_at(&self, due: Time) -> Write {
        self.wake_by(WakeupId::new(), due)
    }

    /// The same, by a wake-up of this id.
    pub(super) fn wake_by(&self, id: WakeupId, due: Time) -> Write {
        let (agent, owner) = (self.agent.id, self.agent.owner.clone());
        Write::ScheduleWakeup(Wakeup { id, agent, owner, due })
    }

    /// Sets the run's status and returns the write of its row.
    pub(super) fn run_row(&mut self, status: Status, waiting_on: Option<WaitingOn>) -> Write {
        self.record.status = status;
        self.record.waiting_on = waiting_on;
        Write::Run(self.record.clone())
    }
}

/// Returns a new run of an agent, which has done nothing yet.
pub(super) fn blank(agent: &Agent, kind: &Kind, now: Time) -> RunRow {
    RunRow {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Running,
        waiting_on: None,
        stop_reason: None,
        error: None,
        kind_version: kind.version.clone(),
        tasks: Vec::new(),
        model_calls: 0,
        worked_ms: 0,
        usage: entourage_types::Usage::default(),
        cost: entourage_types::Cost::default(),
        spent: Vec::new(),
        started: now,
        ended: None,
    }
}
