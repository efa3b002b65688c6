//! The document of the user agent.

use entourage_api::schema;
use entourage_types::{Agent, AgentId, Time};
use serde::Serialize;
use utoipa::ToSchema;

/// The one agent that belongs to the user and to no goal. It has no status: it is always there.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = UserAgent)]
pub(crate) struct UserAgentView {
    /// Its id.
    #[schema(value_type = schema::AgentId)]
    id: AgentId,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

impl From<Agent> for UserAgentView {
    fn from(agent: Agent) -> Self {
        Self { id: agent.id, created_at: agent.created, updated_at: agent.updated }
    }
}
