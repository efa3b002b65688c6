//! A closed session.

use entourage_types::{self as types, AgentId, Owner, SessionEnd, SessionId, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{ModelUse, schema};

/// A closed part of a transcript, with a summary. Its items stay in the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Its id.
    #[schema(value_type = schema::SessionId)]
    pub id: SessionId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The tree it belongs to, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent whose transcript it is in.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// Its number in that transcript, from 1.
    pub number: u32,
    /// What it was about, in a few sentences.
    pub summary: String,
    /// Why it was closed.
    #[schema(value_type = schema::SessionEnd)]
    pub reason: SessionEnd,
    /// The name of the trigger that closed it; left out if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// How many messages and answers it had.
    pub messages: u32,
    /// How many tokens its items have, roughly: their characters divided by 4.
    pub tokens: u64,
    /// The numbers of its first and its last item.
    pub items: (u64, u64),
    /// The model that summed it up; left out if the summary was taken from the messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<ModelUse>,
    /// When its first item was written.
    #[schema(value_type = schema::Time)]
    pub started: Time,
    /// When it was closed.
    #[schema(value_type = schema::Time)]
    pub completed: Time,
}

impl From<types::Session> for Session {
    fn from(session: types::Session) -> Self {
        let types::Session { id, owner, root, agent, number, summary, reason, .. } = session;
        let types::Session { trigger, messages, tokens, items, used, started, completed, .. } = session;
        let used = used.map(ModelUse::from);
        Self {
            id,
            owner,
            root,
            agent,
            number,
            summary,
            reason,
            trigger,
            messages,
            tokens,
            items,
            used,
            started,
            completed,
        }
    }
}

/// Which closed sessions to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FindSessions {
    /// Only sessions of this agent.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// Only those with all of these words; the last one may be the beginning of a word.
    pub text: Option<String>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
