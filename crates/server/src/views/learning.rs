//! A learning, as the API shows it.

use entourage_types::{AgentId, Learning, LearningId, LearningStatus, Owner, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// Something an agent wants to know in every conversation to come.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Learning)]
pub(crate) struct LearningView {
    /// Its id.
    #[schema(value_type = schema::LearningId)]
    id: LearningId,
    /// Its owner.
    #[schema(value_type = String)]
    owner: Owner,
    /// The tree it belongs to, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// The agent that learned it; no other agent sees it.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// One sentence or two.
    text: String,
    /// Whether it still holds.
    #[schema(value_type = schema::LearningStatus)]
    status: LearningStatus,
    /// When it was saved.
    #[schema(value_type = schema::Time)]
    created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated: Time,
}

impl From<Learning> for LearningView {
    fn from(learning: Learning) -> Self {
        let Learning { id, owner, root, agent, text, status, created, updated } = learning;
        Self { id, owner, root, agent, text, status, created, updated }
    }
}
