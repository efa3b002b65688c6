//! A grant, as the API shows it.

use entourage_types::{AgentId, Grant, GrantId, GrantStatus, Owner, QuestionId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// A person's standing leave for one agent to use one tool, as far as one rule would hold it back.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Grant)]
pub(crate) struct GrantView {
    /// Its id.
    #[schema(value_type = schema::GrantId)]
    id: GrantId,
    /// Who gave it.
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
    /// The rule that asks no more, in its words. A rule that changes asks again.
    rule: String,
    /// The question that it was the answer to.
    #[schema(value_type = schema::QuestionId)]
    question: QuestionId,
    /// Where it stands.
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
