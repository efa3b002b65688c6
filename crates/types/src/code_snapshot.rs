//! The state of code that waits.

use serde::{Deserialize, Serialize};

use crate::{AgentId, CallId, Columns, EntityKind, KeptStatus, Owner, Record, Time};

/// The state of an interpreter whose code waits for its calls: a cache. Without it, or if it does not fit, the code runs
/// again from its top, over what is on record. It is apart from the step, so that a claim does not read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeSnapshot {
    /// The call that runs the code.
    pub call: CallId,
    /// Its owner.
    pub owner: Owner,
    /// The tree, with which it is removed.
    pub root: AgentId,
    /// The agent whose call it is.
    pub agent: AgentId,
    /// What the interpreter wrote, in Base64.
    pub state: String,
    /// When that was.
    pub updated: Time,
}

impl Record for CodeSnapshot {
    const KIND: EntityKind = EntityKind::CODE_SNAPSHOT;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.call.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: KeptStatus::Kept.as_str(),
            created: self.updated,
            updated: self.updated,
            name: None,
            text: None,
        }
    }
}
