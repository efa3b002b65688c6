//! A row that says an agent has something to do, now or at a time.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Owner, Time, WakeupId};

/// An agent has something to do. Written in the same commit as its cause, so that neither exists
/// without the other; gone once the run that it caused has stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wakeup {
    /// Its id; also the key under which delivering it twice is harmless.
    pub id: WakeupId,
    /// Who has something to do.
    pub agent: AgentId,
    /// Whose agent, so that owners are served fairly.
    pub owner: Owner,
    /// Not before this moment.
    pub due: Time,
}
