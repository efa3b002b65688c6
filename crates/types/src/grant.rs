//! A standing approval: what a person allowed an agent permanently.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Columns, EntityKind, EventBody, GrantId, Owner, QuestionId, Record, RecordEvent, Time,
    status::words,
};

/// A person's standing approval for one agent to use one tool, as far as one rule would hold it
/// back. It is valid until it is revoked or the rule changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// The person who gave it.
    pub owner: Owner,
    /// The top of the agent's tree.
    pub root: AgentId,
    /// The agent that received it.
    pub agent: AgentId,
    /// The tool.
    pub tool: String,
    /// The text of the rule that no longer asks.
    pub rule: String,
    /// The question that it answered.
    pub question: QuestionId,
    /// Its status.
    pub status: GrantStatus,
    /// When it was given.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

words! {
    /// The status of a grant.
    GrantStatus, "status of a grant" {
        /// The engine makes the calls that it covers without asking.
        Standing => "standing",
        /// It no longer covers any call.
        Revoked => "revoked",
    }
}

impl Record for Grant {
    const KIND: EntityKind = EntityKind::GRANT;
    type Status = GrantStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent),
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<RecordEvent>> {
        Ok(Some(RecordEvent {
            root: self.root,
            agent: self.agent,
            body: EventBody::Grant { grant: Box::new(self.clone()) },
        }))
    }
}
