//! An agent of the tree.

use entourage_api::schema;
use entourage_engine::ActiveAgent;
use entourage_types::{AgentState, Time};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::message::ExplorerMessage;

/// An agent, without what it said.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExplorerEntry {
    /// The id that its caller gave it, or its own.
    agent_id: String,
    /// The agent above it; null at the top of a tree.
    #[schema(required)]
    parent_id: Option<String>,
    /// What it works on.
    user_content: String,
    /// What a person remarks about it; `unchanged` at first.
    user_comment: String,
    /// Its state, or the one that a person wants shown.
    #[schema(value_type = schema::AgentState)]
    status: AgentState,
    /// The agents below it: in the tree, those that are active.
    subagents: Vec<String>,
    /// What its caller keeps with it.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    /// The name of its kind.
    kind: String,
    /// How many agents are above it.
    depth: u16,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

/// An agent, with all that was said.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExplorerAgent {
    #[serde(flatten)]
    pub(crate) entry: ExplorerEntry,
    /// What was said, oldest first; only the last of it where it is long.
    pub(crate) messages: Vec<ExplorerMessage>,
    /// How many items of its transcript come before these; `GET /v1/agents/{id}/items` has them.
    pub(crate) earlier_items: u64,
}

impl From<ActiveAgent> for ExplorerEntry {
    fn from(shown: ActiveAgent) -> Self {
        let ActiveAgent { agent, name, parent, content, comment, state, subagents, metadata } = shown;
        Self {
            agent_id: name,
            parent_id: parent,
            user_content: content,
            user_comment: comment,
            status: state,
            subagents,
            metadata,
            kind: agent.kind,
            depth: agent.depth,
            created_at: agent.created,
            updated_at: agent.updated,
        }
    }
}
