//! A grant.

use entourage_types::{self as types, AgentId, GrantId, GrantStatus, Owner, QuestionId, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

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
        let types::Grant { id, owner, root, agent, tool, subject, question, status, created, updated } =
            grant;
        let rule = subject.to_string();
        Self { id, owner, root, agent, tool, rule, question, status, created, updated }
    }
}

/// Which grants to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListGrants {
    /// Only grants in the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    pub root: Option<AgentId>,
    /// Only grants for this agent.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// Only grants in this status.
    #[param(value_type = Option<schema::GrantStatus>)]
    pub status: Option<GrantStatus>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
