//! A row that records that an agent has something to do, now or at a given time.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Owner, Time, WakeupId};

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
}

impl Wakeup {
    /// Creates a wake-up of an agent.
    #[must_use]
    pub fn new(agent: AgentId, owner: Owner, due: Time) -> Self {
        Self { id: WakeupId::new(), agent, owner, due }
    }
}
