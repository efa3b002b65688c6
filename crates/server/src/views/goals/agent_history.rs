//! The document of a closed session.

use entourage_api::schema;
use entourage_types::{Item, Session, SessionEnd, SessionId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::{HistoryEntry, llm_history};

/// The name of the trigger that has the user agent write what happened in all goals.
const FEED: &str = "feed_generation";

/// A conversation that was archived.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = AgentHistory)]
pub(crate) struct AgentHistoryView {
    /// Its id.
    #[schema(value_type = schema::SessionId)]
    id: SessionId,
    /// All that the model read and answered; in lists, and for users, left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_history: Option<Vec<HistoryEntry>>,
    /// What it was about, in two or three sentences.
    summary: String,
    /// Why it was archived.
    completion_reason: CompletionReason,
    /// How many messages and answers it had.
    message_count: u32,
    /// How many tokens, roughly: its characters divided by 4.
    token_count: u64,
    /// When it began.
    #[schema(value_type = schema::Time)]
    started_at: Time,
    /// When it was archived.
    #[schema(value_type = schema::Time)]
    completed_at: Time,
}

/// Why a conversation was archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CompletionReason {
    /// Nothing had been said for as long as the kind of agent allows.
    SessionTimeout,
    /// The feed was complete.
    FeedGenerationComplete,
    /// What another trigger had asked for was done.
    TriggerComplete,
    /// The user asked for it, through `/v1`.
    Asked,
}

impl AgentHistoryView {
    /// A session with what was said in it.
    pub(crate) fn whole(session: Session, items: &[Item]) -> Self {
        Self { agent_history: Some(llm_history(items)), ..Self::from(session) }
    }
}

impl From<Session> for AgentHistoryView {
    fn from(session: Session) -> Self {
        let completion_reason = match session.reason {
            SessionEnd::Idle => CompletionReason::SessionTimeout,
            SessionEnd::Triggered if session.trigger.as_deref() == Some(FEED) => {
                CompletionReason::FeedGenerationComplete
            }
            SessionEnd::Triggered => CompletionReason::TriggerComplete,
            SessionEnd::Asked => CompletionReason::Asked,
        };
        Self {
            id: session.id,
            agent_history: None,
            summary: session.summary,
            completion_reason,
            message_count: session.messages,
            token_count: session.tokens,
            started_at: session.started,
            completed_at: session.completed,
        }
    }
}
