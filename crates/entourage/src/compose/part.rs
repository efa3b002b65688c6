//! The part that a process takes in the work of those that share its database.

use crate::settings;

/// The part that a process takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It reads and posts for one command, and delivers nothing but what that writes.
    Looks,
    /// It answers requests, and leaves the agents to others.
    Answers,
    /// It comes for one command that waits for agents: they work at others while there are any.
    Visits,
    /// Agents work at it.
    Works,
}

impl Part {
    /// The part of a process that delivers, by these settings.
    pub(crate) const fn of(set: &settings::Cluster) -> Self {
        match set.role {
            _ if set.visits => Self::Visits,
            role if role.serves_all() => Self::Works,
            _ => Self::Answers,
        }
    }

    /// Whether the others are to open links to it. Those to one that is soon gone are its own to open.
    pub(crate) const fn stays(self) -> bool {
        matches!(self, Self::Answers | Self::Works)
    }
}
