//! A grant.

use entourage_types::{self as types, AgentId, GrantId, GrantStatus, Owner, QuestionId, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// A person's standing approval for one agent to use one tool, for calls that one rule would hold back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// Its id.
    #[schema(value_type = schema::GrantId)]
    pub id: GrantId,
    /// The owner, who gave it.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The tree of the agent, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent that it is for.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The tool.
    pub tool: String,
    /// The rule that no longer asks, as text. A rule that changes asks again.
    pub rule: String,
    /// The question whose answer created it.
    #[schema(value_type = schema::QuestionId)]
    pub question: QuestionId,
    /// Its status.
    #[schema(value_type = schema::GrantStatus)]
    pub status: GrantStatus,
    /// When it was given.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Grant> for Grant {
    fn from(grant: types::Grant) -> Self {
        let types::Grant { id, owner, root, agent, tool, rule, question, status, created, updated } = grant;
        Self { id, owner, root, agent, tool, rule, question, status, created, updated }
    }
}
