//! The active agents of an owner.

use std::collections::BTreeMap;

use entourage_types::{AgentId, AgentState, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{Agent, Question, Subtree, Tally, schema};

/// The agents that are at work, wait, or have something to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ActiveAgents {
    /// The agents, oldest first.
    pub data: Vec<ActiveAgent>,
    /// For each of their trees, by its root, the number of an event: follow the tree after it, and nothing that is not in
    /// this answer is missed.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub last_events: BTreeMap<AgentId, u64>,
}

/// An active agent, what was set of it, and what it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ActiveAgent {
    /// The agent.
    #[serde(flatten)]
    pub agent: Agent,
    /// The name that its caller gave it, or its id.
    pub name: String,
    /// The name or id of the agent above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_name: Option<String>,
    /// The names or ids of the active agents below it.
    pub subagents: Vec<String>,
    /// Its state, in the words of explorations.
    #[schema(value_type = schema::AgentState)]
    pub state: AgentState,
    /// What it works on.
    pub content: String,
    /// What a person remarks about it; `unchanged` at first.
    pub comment: String,
    /// What its caller keeps with it.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// The step that its run began last, of those that are open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The question that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// When it tries a failed call again, while it waits for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    pub retry_due: Option<Time>,
    /// What its own runs used.
    pub used: Tally,
    /// Sums over it and all agents below it.
    pub subtree: Subtree,
}
