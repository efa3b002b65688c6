//! An intervention, as the API shows it.

use entourage_types::{
    Action, AgentId, Intervention, InterventionId, InterventionStatus, Owner, PostId, Time,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{item::AuthorView, schema};

/// An action on an agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Intervention)]
pub(crate) struct InterventionView {
    /// Its id.
    #[schema(value_type = schema::InterventionId)]
    id: InterventionId,
    /// The agent's owner.
    #[schema(value_type = String)]
    owner: Owner,
    /// The tree, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The author.
    by: AuthorView,
    /// The action.
    #[schema(value_type = schema::Action)]
    action: Action,
    /// The text that came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The message whose answer it is about, if it is about that answer alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PostId>)]
    of: Option<PostId>,
    /// Whether the agent has applied it.
    #[schema(value_type = schema::InterventionStatus)]
    status: InterventionStatus,
    /// When it was requested.
    #[schema(value_type = schema::Time)]
    created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated: Time,
}

impl From<Intervention> for InterventionView {
    fn from(intervention: Intervention) -> Self {
        let Intervention { id, owner, root, agent, by, action, text, of, status, created, updated } =
            intervention;
        Self { id, owner, root, agent, by: by.into(), action, text, of, status, created, updated }
    }
}
