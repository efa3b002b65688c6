//! How a database is opened.

use std::time::Duration;

use entourage_store::Durability;
use entourage_types::NodeId;

/// How a database is opened.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What a commit survives once it has returned, as far as the server's own `synchronous_commit` sees to that. Claims are
    /// durable in any case.
    pub durability: Durability,
    /// How many connections write. One more is for the signs of life of the node.
    pub writers: usize,
    /// How many connections read.
    pub readers: usize,
    /// How long a call waits for a connection.
    pub patience: Duration,
    /// The node that claims agents.
    pub node: NodeId,
}

impl Default for Settings {
    fn default() -> Self {
        let (durability, patience) = (Durability::Full, Duration::from_secs(5));
        Self { durability, writers: 8, readers: 8, patience, node: NodeId::new() }
    }
}
