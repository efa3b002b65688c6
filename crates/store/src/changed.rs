//! The hint that follows a commit.

use entourage_types::{AgentId, Event};

/// The events of a commit.
#[derive(Debug, Clone, Default)]
pub struct CommittedEvents {
    /// The events derived from the commit, with their numbers, and with items filled in.
    pub events: Vec<Event>,
}

impl CommittedEvents {
    /// Whether an event belongs to the tree of this root.
    #[must_use]
    pub fn touches(&self, root: AgentId) -> bool {
        self.events.iter().any(|event| event.root == root)
    }
}
