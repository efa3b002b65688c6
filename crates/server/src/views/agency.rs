//! Agencies and their threads, as the API shows them.

use std::sync::Arc;

use entourage_engine::{Agency, agencies::Flow, responses::sender_of};
use entourage_types::{Agent, AgentId, Chat, Owner, ShownStatus, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// A group of agents, and which of them may write to which.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Agency)]
pub(crate) struct AgencyView {
    /// Its name.
    name: String,
    /// What it is for.
    description: String,
    /// Its agents, by the names of their kinds.
    agents: Vec<String>,
    /// The agents that a person may write to; the first is the default.
    entry_points: Vec<String>,
    /// Which agent may write to which, in one direction each.
    flows: Vec<FlowView>,
    /// The instructions of all its agents, before their own.
    shared_instructions: String,
    /// The chart as a Mermaid flowchart.
    mermaid: String,
}

/// One direction of messages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Flow)]
struct FlowView {
    /// The agent that writes.
    from: String,
    /// The agent that receives the message and answers.
    to: String,
}

impl From<Arc<Agency>> for AgencyView {
    fn from(agency: Arc<Agency>) -> Self {
        let chart = &agency.chart;
        let flow = |flow: &Flow| FlowView { from: flow.from.clone(), to: flow.to.clone() };
        Self {
            name: agency.name.clone(),
            description: agency.description.clone(),
            agents: chart.agents().to_vec(),
            entry_points: chart.entry_points().to_vec(),
            flows: chart.flows().iter().map(flow).collect(),
            shared_instructions: agency.shared_instructions.clone(),
            mermaid: chart.mermaid(),
        }
    }
}

/// The messages between a recipient and a sender in a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Thread)]
pub(crate) struct ThreadView {
    /// The recipient.
    agent: String,
    /// The sender: another agent, `user`, or the name that the person gave.
    sender: String,
    /// The agent of the tree that holds the thread: `GET /v1/agents/{id}/items` reads all of it.
    #[schema(value_type = schema::AgentId)]
    id: AgentId,
    /// Its status.
    #[schema(value_type = schema::ShownStatus)]
    status: ShownStatus,
    /// How many items it has.
    items: u64,
}

impl From<Agent> for ThreadView {
    fn from(agent: Agent) -> Self {
        let (sender, status) = (sender_of(&agent), agent.shown());
        Self { agent: agent.kind, sender, id: agent.id, status, items: agent.items }
    }
}

/// A chat of an agency.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AgencyChat)]
pub(crate) struct AgencyChatView {
    /// Its id in the store.
    id: String,
    /// Its owner.
    #[schema(value_type = String)]
    owner: Owner,
    /// Its name: the `chat_id` of its messages.
    name: String,
    /// The tree of its threads: `GET /v1/agents/{id}/tree` reads it.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// Whether it was deleted; such a chat is not listed.
    deleted: bool,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created: Time,
    /// When it was created, or deleted.
    #[schema(value_type = schema::Time)]
    updated: Time,
}

impl From<Chat> for AgencyChatView {
    fn from(chat: Chat) -> Self {
        let Chat { id, owner, name, root, deleted, created, updated } = chat;
        Self { id, owner, name, root, deleted, created, updated }
    }
}
