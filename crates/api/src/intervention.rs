//! An intervention.

use entourage_types::{
    self as types, Action, AgentId, InterventionId, InterventionStatus, Owner, PostId, Time,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Author, schema};

/// An action on an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Intervention {
    /// Its id.
    #[schema(value_type = schema::InterventionId)]
    pub id: InterventionId,
    /// The agent's owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The tree, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The author.
    pub by: Author,
    /// The action.
    #[schema(value_type = schema::Action)]
    pub action: Action,
    /// The text that came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The message whose answer it is about, if it is about that answer alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PostId>)]
    pub of: Option<PostId>,
    /// Whether the agent has applied it.
    #[schema(value_type = schema::InterventionStatus)]
    pub status: InterventionStatus,
    /// When it was requested.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Intervention> for Intervention {
    fn from(intervention: types::Intervention) -> Self {
        let types::Intervention { id, owner, root, agent, by, action, text, of, status, created, updated } =
            intervention;
        Self { id, owner, root, agent, by: by.into(), action, text, of, status, created, updated }
    }
}

/// An action, and the text that goes with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Intervene {
    /// `pause` (the agent begins nothing new), `resume`, `comment` (a remark for people), `steer` (a message
    /// that the agent reads before its next model call), `modify` (a new instruction; work under way is
    /// dropped), `stop` (ends the run under way and all that the agent delegated, also while it is at rest
    /// itself; you can write to it again), `retry` (a failed run, or an attempt that waits), `close_session`
    /// (the session is summed up and a clean one begins, once the agent is at rest), `delete` (ends the agent
    /// and all agents below it for good).
    #[schema(value_type = schema::Action)]
    pub action: Action,
    /// The remark, message or instruction that `comment`, `steer` and `modify` need; a reason for the other
    /// actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, pattern = r"\S")]
    pub text: Option<String>,
}
