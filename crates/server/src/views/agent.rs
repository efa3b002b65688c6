//! An agent, as the API shows it.

use entourage_types::{Agent, AgentId, Owner, ShownStatus, StopReason, Time, WaitingOn};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// One instance of a kind, a node of its tree.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Agent)]
pub(crate) struct AgentView {
    /// Its id.
    #[schema(value_type = schema::AgentId)]
    id: AgentId,
    /// Its owner.
    #[schema(value_type = String)]
    owner: Owner,
    /// Its tree, by the agent that was created first in it: itself, except for agents below another and for
    /// further threads of a chat.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// The agent that created it; null if a person did.
    #[schema(value_type = Option<schema::AgentId>, required)]
    parent: Option<AgentId>,
    /// How many agents are above it.
    depth: u16,
    /// The name of its kind.
    kind: String,
    /// The key by which another agent finds it when it writes to a peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// What it is for, in a few words.
    title: String,
    /// Its status.
    #[schema(value_type = schema::ShownStatus)]
    pub(crate) status: ShownStatus,
    /// What it waits on, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::WaitingOn>)]
    waiting_on: Option<WaitingOn>,
    /// Why its last run failed or was stopped, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::StopReason>)]
    stop_reason: Option<StopReason>,
    /// How many times it has been activated.
    epoch: u64,
    /// The number of its current session.
    session: u32,
    /// How many items its transcript has.
    items: u64,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated: Time,
}

impl From<Agent> for AgentView {
    fn from(agent: Agent) -> Self {
        let shown = agent.shown();
        let Agent {
            id,
            owner,
            root,
            parent,
            depth,
            kind,
            key,
            title,
            status: _,
            waiting_on,
            stop_reason,
            epoch,
            session,
            items,
            created,
            updated,
        } = agent;
        Self {
            id,
            owner,
            root,
            parent,
            depth,
            kind,
            key,
            title,
            status: shown,
            waiting_on,
            stop_reason,
            epoch: epoch.number,
            session,
            items,
            created,
            updated,
        }
    }
}
