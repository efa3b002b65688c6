//! What a thread of messages belongs to.

use entourage_types::AgentId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The sorts of things that agents of this API are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum AgentableType {
    /// A goal.
    Goal,
    /// A task that a goal's agent, or the user agent, created.
    AgentTask,
    /// The one agent that belongs to the user.
    UserAgent,
}

/// What a thread of messages belongs to, and the agent that works for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agentable {
    /// What it is.
    pub(crate) sort: AgentableType,
    /// The id by which this API knows it.
    pub(crate) id: String,
    /// The agent.
    pub(crate) agent: AgentId,
    /// The top of its tree.
    pub(crate) root: AgentId,
}
