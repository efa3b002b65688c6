//! An agent: one instance of a kind, a node of the tree.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, AgentKey, Epoch, Owner, ShownStatus, Status, StopReason, Time, WaitingOn, status::words,
};

/// One instance of a kind, with one transcript and one counterpart: the person or the agent that it
/// [works for](WorksFor).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// The user that owns it.
    pub owner: Owner,
    /// The id of its tree: the first agent created in the tree, which is the agent itself if it is
    /// the root. In a chat, the threads that people open are siblings at the top of one tree.
    pub root: AgentId,
    /// The agent above it, whose limits bound it and with which it is deleted; none at the top of a
    /// tree.
    pub parent: Option<AgentId>,
    /// Its counterpart. At the top of a tree always the person.
    pub works_for: WorksFor,
    /// The number of its ancestors.
    pub depth: u16,
    /// The name of its kind.
    pub kind: String,
    /// The key by which it is found in its tree when a person or an agent writes to its kind; none if it is found by
    /// its id alone, such as one that was spawned for a piece of work.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<AgentKey>,
    /// A short line that tells people what it is for.
    pub title: String,
    /// Its status.
    pub status: Status,
    /// What it waits for, while its status is `waiting`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waiting_on: Option<WaitingOn>,
    /// Why its last run failed or was stopped, while its status reports that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stop_reason: Option<StopReason>,
    /// The fence: each claim raises it, and the store refuses a commit under another epoch.
    pub epoch: Epoch,
    /// The number of its current session.
    pub session: u32,
    /// The number of items in its transcript; also the number of the next item.
    pub items: u64,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

impl Agent {
    /// Its status as users see it.
    #[must_use]
    pub const fn shown(&self) -> ShownStatus {
        ShownStatus::of(self.status, self.stop_reason)
    }

    /// Creates an agent at the top of a new tree.
    #[must_use]
    pub fn root(owner: Owner, kind: impl Into<String>, title: impl Into<String>, now: Time) -> Self {
        let id = AgentId::new();
        Self {
            id,
            owner,
            root: id,
            parent: None,
            works_for: WorksFor::Person,
            depth: 0,
            kind: kind.into(),
            key: None,
            title: crate::plain(title.into()),
            status: Status::Idle,
            waiting_on: None,
            stop_reason: None,
            epoch: Epoch::default(),
            session: 1,
            items: 0,
            created: now,
            updated: now,
        }
    }

    /// Creates an agent below this one that works for it, in the same tree and with the same owner.
    #[must_use]
    pub fn child(
        &self,
        kind: impl Into<String>,
        title: impl Into<String>,
        key: Option<AgentKey>,
        now: Time,
    ) -> Self {
        Self {
            root: self.root,
            parent: Some(self.id),
            works_for: WorksFor::Parent,
            depth: self.depth.saturating_add(1),
            key,
            ..Self::root(self.owner.clone(), kind, title, now)
        }
    }
}

words! {
    /// Who an agent's counterpart is: who gives it work, reads what it sends and gets its answer.
    WorksFor, "counterpart" {
        /// The person who owns it, wherever it is in its tree.
        Person => "person",
        /// The agent above it.
        Parent => "parent",
    }
}

impl WorksFor {
    /// Whether it is the person.
    #[must_use]
    pub const fn is_person(self) -> bool {
        matches!(self, Self::Person)
    }
}
