//! A token for a stream whose client cannot send headers.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Columns, EntityKind, Owner, Record, Sha256, Time, status::words};

/// What is kept of a token that may start one agent and follow it: `EventSource` and `WebSocket` of browsers cannot send a
/// bearer token, and that must not stand in an address. The token itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamToken {
    /// The digest of the token, by which it is found.
    pub digest: Sha256,
    /// For whom it is.
    pub owner: Owner,
    /// The name of the only agent that it is for, if it is for one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The agent that it follows, and no other: the one that it started, or that had its name when it was made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<AgentId>,
    /// The tree of that agent, with which it is removed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root: Option<AgentId>,
    /// Until when it may start the agent.
    pub starts_until: Time,
    /// When it expires with the token of whoever asked for it; never without authentication.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires: Option<Time>,
    /// When it was made.
    pub created: Time,
    /// When it began to follow its agent; when it was made, before that.
    pub updated: Time,
}

words! {
    /// The status of a stream token.
    StreamTokenStatus, "status of a stream token" {
        /// It has started nothing.
        Pending => "pending",
        /// It follows an agent.
        Applied => "applied",
    }
}

impl Record for StreamToken {
    const KIND: EntityKind = EntityKind::STREAM_TOKEN;
    type Status = StreamTokenStatus;

    fn columns(&self) -> Columns {
        let status =
            if self.agent.is_some() { StreamTokenStatus::Applied } else { StreamTokenStatus::Pending };
        Columns {
            id: self.digest.to_string(),
            owner: self.owner.clone(),
            root: self.root,
            parent: self.agent.map(Into::into),
            status: status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }
}
