//! A standing approval: what a person allowed an agent permanently.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Columns, EntityKind, EventBody, GrantId, NewEvent, Owner, QuestionId, Record, Time,
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
    /// What no longer holds back its calls.
    pub subject: GrantSubject,
    /// The question that it answered.
    pub question: QuestionId,
    /// Its status.
    pub status: GrantStatus,
    /// When it was given.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// What holds a call back until a person approves it, and what a grant exempts calls from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantSubject {
    /// An approval rule of the kind, as [`ApprovalRule`](crate::ApprovalRule) displays it: without its time limit.
    Rule(String),
    /// An address at this host that only the agent chose, after it had read private data.
    Host(String),
}

/// As people read it.
impl fmt::Display for GrantSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => f.write_str(rule),
            Self::Host(host) => {
                write!(f, "addresses at {host} that only the agent chose, after private data was read")
            }
        }
    }
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
            parent: Some(self.agent.into()),
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        Ok(Some(NewEvent {
            root: self.root,
            agent: self.agent,
            body: EventBody::Grant { grant: Box::new(self.clone()) },
        }))
    }
}
