//! The document of a chat.

use entourage_api::schema;
use entourage_types::{Agent, AgentId, Status, Time};
use serde::Serialize;
use utoipa::ToSchema;

/// A chat with an orchestrator.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Chat)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatView {
    /// Its id, which is the orchestrator's.
    #[schema(value_type = schema::ChatId)]
    id: AgentId,
    /// What it is about.
    title: String,
    /// Whether it was deleted: it takes no more messages, and what was said in it stays readable.
    deleted: bool,
    /// When it began.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When the orchestrator last did something.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

impl From<Agent> for ChatView {
    fn from(Agent { id, title, status, created, updated, .. }: Agent) -> Self {
        Self { id, title, deleted: status == Status::Cancelled, created_at: created, updated_at: updated }
    }
}
