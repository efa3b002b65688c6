//! A standing leave: what a person allowed an agent once and for all.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Entity, EntityKind, GrantId, Owner, QuestionId, Record, Time, status::words};

/// A person's standing leave for one agent to use one tool, as far as one rule would hold it back.
/// It holds until it is revoked, or until the rule changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// Who gave it.
    pub owner: Owner,
    /// The top of the agent's tree.
    pub root: AgentId,
    /// The agent that it is for.
    pub agent: AgentId,
    /// The tool.
    pub tool: String,
    /// The rule that asks no more, in its words.
    pub rule: String,
    /// The question that it was the answer to.
    pub question: QuestionId,
    /// Where it stands.
    pub status: GrantStatus,
    /// When it was given.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

words! {
    /// Where a grant stands.
    GrantStatus, "status of a grant" {
        /// Calls that it covers are made without asking.
        Standing => "standing",
        /// It covers nothing any more.
        Revoked => "revoked",
    }
}

impl Record for Grant {
    const KIND: EntityKind = EntityKind::Grant;

    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(Entity {
            kind: Self::KIND,
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent),
            status: self.status.as_str().to_owned(),
            created: self.created,
            updated: self.updated,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}
