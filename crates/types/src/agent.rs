//! An agent: one living instance of a kind, a node of the tree.

use serde::{Deserialize, Serialize};

use crate::{AgentId, Owner, ShownStatus, Status, StopReason, Time, WaitingOn, shown};

/// One living instance of a kind, with one transcript and one counterpart: the user when it has no
/// parent, otherwise its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Whose it is.
    pub owner: Owner,
    /// Its tree, by the agent that was made first in it; itself in a tree of its own. In a chat, the
    /// threads that people open stand side by side at the top of one tree.
    pub root: AgentId,
    /// Who made it; none when a person did.
    pub parent: Option<AgentId>,
    /// How many agents stand above it.
    pub depth: u16,
    /// The name of its kind.
    pub kind: String,
    /// What it is found by when an agent writes to a peer: one agent for (chat, kind, sender).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// A short line for people: what it is for.
    pub title: String,
    /// Where it stands.
    #[serde(deserialize_with = "shown::status")]
    pub status: Status,
    /// What it waits on, when it waits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waiting_on: Option<WaitingOn>,
    /// Why its last run failed or was stopped, while its status says that it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stop_reason: Option<StopReason>,
    /// The fence: raised by each claim; a commit under an older epoch is refused.
    pub epoch: u64,
    /// The number of its current session.
    pub session: u32,
    /// How many items its transcript has; also the next item's number.
    pub items: u64,
    /// When it was made.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

impl Agent {
    /// Where it stands, as it is shown.
    #[must_use]
    pub const fn shown(&self) -> ShownStatus {
        ShownStatus::of(self.status, self.stop_reason)
    }

    /// A new agent at the top of a tree of its own.
    #[must_use]
    pub fn root(owner: Owner, kind: impl Into<String>, title: impl Into<String>, now: Time) -> Self {
        let id = AgentId::new();
        Self {
            id,
            owner,
            root: id,
            parent: None,
            depth: 0,
            kind: kind.into(),
            key: None,
            title: crate::plain(title.into()),
            status: Status::Idle,
            waiting_on: None,
            stop_reason: None,
            epoch: 0,
            session: 1,
            items: 0,
            created: now,
            updated: now,
        }
    }

    /// A new agent below this one, in the same tree and of the same owner.
    #[must_use]
    pub fn child(
        &self,
        kind: impl Into<String>,
        title: impl Into<String>,
        key: Option<String>,
        now: Time,
    ) -> Self {
        Self {
            root: self.root,
            parent: Some(self.id),
            depth: self.depth.saturating_add(1),
            key,
            ..Self::root(self.owner.clone(), kind, title, now)
        }
    }
}
