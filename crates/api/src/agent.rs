//! An agent.

use std::collections::BTreeMap;

use entourage_types::{self as types, AgentId, Owner, ShownStatus, StopReason, Time, WaitingOn, WorksFor};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Tally, schema};

/// One instance of a kind, a node of its tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// Its id.
    #[schema(value_type = schema::AgentId)]
    pub id: AgentId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// Its tree, by the agent that was created first in it: itself, except for agents below another and for
    /// further threads of a chat.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent above it, with which it is deleted; null at the top of a tree.
    #[schema(value_type = Option<schema::AgentId>, required)]
    pub parent: Option<AgentId>,
    /// Who gives it work and gets its answer: the person, or the agent above it.
    #[schema(value_type = schema::WorksFor)]
    pub works_for: WorksFor,
    /// How many agents are above it.
    pub depth: u16,
    /// The name of its kind.
    pub kind: String,
    /// The key by which another agent finds it when it writes to a peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The id that its caller gave it, while that leads to it; left out where it has none, and in events.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// What it is for, in a few words.
    pub title: String,
    /// Its status.
    #[schema(value_type = schema::ShownStatus)]
    pub status: ShownStatus,
    /// What it waits on, if it waits: `retry` also where a budget has no room for its next model call, which
    /// `GET /v1/agents/{id}/why` then names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::WaitingOn>)]
    pub waiting_on: Option<WaitingOn>,
    /// Why its last run failed or was stopped, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::StopReason>)]
    pub stop_reason: Option<StopReason>,
    /// How many times it has been activated.
    pub epoch: u64,
    /// The number of its current session.
    pub session: u32,
    /// How many items its transcript has.
    pub items: u64,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Agent> for Agent {
    fn from(agent: types::Agent) -> Self {
        let shown = agent.shown();
        let types::Agent {
            id,
            owner,
            root,
            parent,
            works_for,
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
            works_for,
            depth,
            kind,
            key: key.map(String::from),
            name: None,
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

/// An agent to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct CreateAgent {
    /// The kind of agent; by default the one that people talk to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub kind: Option<String>,
    /// What the agent is for, in a few words; by default the beginning of the message, and empty without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub title: Option<String>,
    /// Its first message; the agent starts to work on it at once. Without one it is idle until it gets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, pattern = r"\S")]
    pub message: Option<String>,
    /// The agent below which it is put: it works for you all the same, counts against the limits of the agent above,
    /// and is deleted with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    pub parent: Option<AgentId>,
}

/// Which agents to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListAgents {
    /// Only agents at the top of their tree.
    #[serde(default)]
    #[param(required = false)]
    pub roots: bool,
    /// Only agents in this status.
    #[param(value_type = Option<schema::ShownStatus>)]
    pub status: Option<ShownStatus>,
    /// Only agents that wait on this.
    #[param(value_type = Option<schema::WaitingOn>)]
    pub waiting_on: Option<WaitingOn>,
    /// Only agents of this kind.
    pub kind: Option<String>,
    /// Only agents whose title has each of these words.
    pub text: Option<String>,
    /// The agent that its caller gave this name last, active or not, as explorations have names; also by its id. Not with
    /// other conditions.
    pub name: Option<String>,
    /// Only agents of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    pub tree: Option<AgentId>,
    /// Only agents that have not read all of their inbox; not with `order=updated`.
    #[serde(default)]
    #[param(required = false)]
    pub unread: bool,
    /// `created`, the default, for the newest first; `updated` for those that began to work last first, without
    /// those that never have.
    #[param(value_type = Option<schema::AgentOrder>)]
    pub order: Option<AgentOrder>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}

/// The order of a list of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentOrder {
    /// The newest first.
    Created,
    /// Those that began to work last first.
    Updated,
}

/// Which children of an agent to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListChildren {
    /// Only children in this status.
    #[param(value_type = Option<schema::ShownStatus>)]
    pub status: Option<ShownStatus>,
    /// Only children that wait on this.
    #[param(value_type = Option<schema::WaitingOn>)]
    pub waiting_on: Option<WaitingOn>,
    /// Only children whose title has each of these words.
    pub text: Option<String>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}

/// A child of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Child {
    /// The child.
    #[serde(flatten)]
    pub agent: Agent,
    /// Sums over it and all agents below it.
    pub subtree: Subtree,
}

/// Sums over an agent and all agents below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Subtree {
    /// How many agents there are in each status; statuses that none is in are left out.
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    pub agents: BTreeMap<String, u64>,
    /// How many of their questions are open.
    pub open_questions: u64,
    /// What their runs used, those under way up to their last commit.
    pub used: Tally,
}
