//! A closed session, as the API shows it.

use entourage_types::{AgentId, Owner, Session, SessionEnd, SessionId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::{run::ModelUseView, schema};

/// A closed part of a transcript, with a summary. Its items stay in the transcript.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Session)]
pub(crate) struct SessionView {
    /// Its id.
    #[schema(value_type = schema::SessionId)]
    id: SessionId,
    /// Its owner.
    #[schema(value_type = String)]
    owner: Owner,
    /// The tree it belongs to, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// The agent whose transcript it is in.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// Its number in that transcript, from 1.
    number: u32,
    /// What it was about, in a few sentences.
    summary: String,
    /// Why it was closed.
    #[schema(value_type = schema::SessionEnd)]
    reason: SessionEnd,
    /// How many messages and answers it had.
    messages: u32,
    /// How many tokens its items have, roughly: their characters divided by 4.
    tokens: u64,
    /// The numbers of its first and its last item.
    items: (u64, u64),
    /// The model that summed it up; left out if the summary was taken from the messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<ModelUseView>,
    /// When its first item was written.
    #[schema(value_type = schema::Time)]
    started: Time,
    /// When it was closed.
    #[schema(value_type = schema::Time)]
    completed: Time,
}

impl From<Session> for SessionView {
    fn from(session: Session) -> Self {
        let Session { id, owner, root, agent, number, summary, reason, .. } = session;
        let Session { messages, tokens, items, used, started, completed, .. } = session;
        let used = used.map(ModelUseView::from);
        Self {
            id,
            owner,
            root,
            agent,
            number,
            summary,
            reason,
            messages,
            tokens,
            items,
            used,
            started,
            completed,
        }
    }
}
