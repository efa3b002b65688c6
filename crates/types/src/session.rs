//! A closed session: what later contexts keep of it.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Columns, EntityKind, EventBody, ModelUse, NewEvent, Owner, Record, SessionId, Time,
    status::words,
};

/// A closed stretch of a transcript, with a summary. Its items stay in the transcript; the agent's
/// model reads the summary instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree it belongs to.
    pub root: AgentId,
    /// The agent whose transcript it is in.
    pub agent: AgentId,
    /// Its number in that transcript, from 1.
    pub number: u32,
    /// What it was about, in a few sentences.
    pub summary: String,
    /// Why it was closed.
    pub reason: SessionEnd,
    /// The name of the trigger that closed it, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trigger: Option<String>,
    /// How many messages and answers it had.
    pub messages: u32,
    /// How many tokens its items have, roughly: their characters divided by 4.
    pub tokens: u64,
    /// The numbers of its first and its last item.
    pub items: (u64, u64),
    /// The model that summarised it and what the call used; none if the summary was extracted from
    /// the messages.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub used: Option<ModelUse>,
    /// When its first item was written.
    pub started: Time,
    /// When it was closed.
    pub completed: Time,
}

words! {
    /// Why a session was closed.
    SessionEnd, "end of a session" {
        /// It had no new items for as long as its kind allows.
        Idle => "idle",
        /// A person asked for it.
        Asked => "asked",
        /// The run of a trigger that ends sessions had succeeded.
        Triggered => "triggered",
    }
}

words! {
    /// The status of the record of a session: only closed ones have one.
    SessionStatus, "status of a session" {
        /// It was closed.
        Closed => "closed",
    }
}

impl Record for Session {
    const KIND: EntityKind = EntityKind::SESSION;
    type Status = SessionStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: SessionStatus::Closed.as_str(),
            created: self.started,
            updated: self.completed,
            name: None,
            text: Some(self.summary.clone()),
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        Ok(Some(NewEvent {
            root: self.root,
            agent: self.agent,
            body: EventBody::Session { session: Box::new(self.clone()) },
        }))
    }
}
