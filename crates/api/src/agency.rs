//! Agencies and their threads.

use entourage_types::{AgentId, Chat, Owner, ShownStatus, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// A group of agents, and which of them may write to which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Agency {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its agents, by the names of their kinds.
    pub agents: Vec<String>,
    /// The agents that a person may write to; the first is the default.
    pub entry_points: Vec<String>,
    /// Which agent may write to which, in one direction each.
    pub flows: Vec<Flow>,
    /// The instructions of all its agents, before their own.
    pub shared_instructions: String,
    /// The chart as a Mermaid flowchart.
    pub mermaid: String,
}

/// One direction of messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Flow {
    /// The agent that writes.
    pub from: String,
    /// The agent that receives the message and answers.
    pub to: String,
}

/// The messages between a recipient and a sender in a chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Thread {
    /// The recipient.
    pub agent: String,
    /// The sender: another agent, `user`, or the name that the person gave.
    pub sender: String,
    /// The agent of the tree that holds the thread: `GET /v1/agents/{id}/items` reads all of it.
    #[schema(value_type = schema::AgentId)]
    pub id: AgentId,
    /// Its status.
    #[schema(value_type = schema::ShownStatus)]
    pub status: ShownStatus,
    /// How many items it has.
    pub items: u64,
}

/// A chat of an agency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgencyChat {
    /// Its id in the store.
    pub id: String,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// Its name: the `chat_id` of its messages.
    pub name: String,
    /// The tree of its threads: `GET /v1/agents/{id}/tree` reads it.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// Whether it was deleted; such a chat is not listed.
    pub deleted: bool,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it was created, or deleted.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<Chat> for AgencyChat {
    fn from(chat: Chat) -> Self {
        let Chat { id, owner, name, root, deleted, created, updated } = chat;
        Self { id, owner, name, root, deleted, created, updated }
    }
}
