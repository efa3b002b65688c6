//! A grant, as the API shows it.

use entourage_types::{AgentId, Grant, GrantId, GrantStatus, Owner, QuestionId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// A person's standing approval for one agent to use one tool, for calls that one rule would hold back.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Grant)]
pub(crate) struct GrantView {
    /// Its id.
    #[schema(value_type = schema::GrantId)]
    id: GrantId,
    /// The owner, who gave it.
    #[schema(value_type = String)]
    owner: Owner,
    /// The tree of the agent, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// The agent that it is for.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The tool.
    tool: String,
    /// The rule that no longer asks, as text. A rule that changes asks again.
    rule: String,
    /// The question whose answer created it.
    #[schema(value_type = schema::QuestionId)]
    question: QuestionId,
    /// Its status.
    #[schema(value_type = schema::GrantStatus)]
    status: GrantStatus,
    /// When it was given.
    #[schema(value_type = schema::Time)]
    created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated: Time,
}

impl From<Grant> for GrantView {
    fn from(grant: Grant) -> Self {
        let Grant { id, owner, root, agent, tool, rule, question, status, created, updated } = grant;
        Self { id, owner, root, agent, tool, rule, question, status, created, updated }
    }
}
