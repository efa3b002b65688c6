//! A row that records that an agent has something to do, now or at a given time.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Owner, Schedule, ScheduleId, Time, WakeupId};

/// An agent has something to do. Written in the same commit as its cause, so that neither exists
/// without the other; deleted once the run that it caused has stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wakeup {
    /// Its id; also the key that makes a repeated delivery harmless.
    pub id: WakeupId,
    /// The agent that has something to do.
    pub agent: AgentId,
    /// The agent's owner, so that the dispatcher serves owners fairly.
    pub owner: Owner,
    /// The earliest moment at which to deliver it.
    pub due: Time,
    /// The schedule that fires with it, if one does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub schedule: Option<ScheduleId>,
}

impl Wakeup {
    /// Creates a wake-up of an agent.
    #[must_use]
    pub fn new(agent: AgentId, owner: Owner, due: Time) -> Self {
        Self { id: WakeupId::new(), agent, owner, due, schedule: None }
    }

    /// Creates the wake-up with which a schedule fires when its time comes. A schedule has one at most.
    #[must_use]
    pub fn of_schedule(schedule: &Schedule) -> Self {
        let Schedule { id, agent, owner, due, .. } = schedule;
        let id = WakeupId::from_uuid(id.uuid());
        Self { id, schedule: Some(schedule.id), ..Self::new(*agent, owner.clone(), *due) }
    }
}
