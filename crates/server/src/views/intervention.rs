//! An intervention, as the API shows it.

use entourage_types::{
    Action, AgentId, Intervention, InterventionId, InterventionStatus, Owner, PostId, Time,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{item::AuthorView, schema};

/// Who did what to which agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Intervention)]
pub(crate) struct InterventionView {
    /// Its id.
    #[schema(value_type = schema::InterventionId)]
    id: InterventionId,
    /// Whose agent.
    #[schema(value_type = String)]
    owner: Owner,
    /// The tree, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// To which agent.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// Who.
    by: AuthorView,
    /// What.
    #[schema(value_type = schema::Action)]
    action: Action,
    /// The words that came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The message whose answer it is about, where it is about no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PostId>)]
    of: Option<PostId>,
    /// Whether the agent has come to it.
    #[schema(value_type = schema::InterventionStatus)]
    status: InterventionStatus,
    /// When it was asked for.
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
