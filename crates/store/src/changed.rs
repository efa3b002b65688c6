//! The hint that follows a commit.

use entourage_types::{AgentId, Event};

/// What a commit told.
#[derive(Debug, Clone, Default)]
pub struct Changed {
    /// The events derived from it, with their numbers, items filled in.
    pub events: Vec<Event>,
}

impl Changed {
    /// Whether the tree of this root has news.
    #[must_use]
    pub fn touches(&self, root: AgentId) -> bool {
        self.events.iter().any(|event| event.root == root)
    }
}
