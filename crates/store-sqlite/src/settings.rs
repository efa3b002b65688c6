//! How a database is opened.

use std::{sync::Arc, time::Duration};

use entourage_store::Durability;

/// How long to wait for another program that holds the file: people look at a live database with `sqlite3`.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The number of reads at a time, of short and of long ones: one for each core, but between two and four.
/// Each needs a connection, and each connection holds the schema.
pub(crate) fn parallel_reads() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4))
}

/// How a database is opened.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What a commit survives once it has returned.
    pub durability: Durability,
    /// The number of threads for long reads, each with its own connection; at least one. The default is one
    /// for each core, but between two and four.
    pub readers: usize,
    /// How long a commit waits for another program that writes to the file.
    pub patience: Duration,
    /// Whether a database of an older version is migrated; otherwise it is refused.
    pub migrate: bool,
    /// Called with every statement that begins, for measurements and tests.
    pub statements: Option<Statements>,
}

/// Receives the text of every statement that begins; the statements of triggers arrive as comments.
#[derive(Clone)]
pub struct Statements(pub(crate) Arc<dyn Fn(&str) + Send + Sync>);

impl Statements {
    /// Calls `heard` with each text, on the thread that begins the statement.
    pub fn new(heard: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(heard))
    }
}

impl std::fmt::Debug for Statements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Statements").finish_non_exhaustive()
    }
}

impl Default for Settings {
    fn default() -> Self {
        let (durability, patience) = (Durability::Full, PATIENCE);
        Self { durability, readers: parallel_reads(), patience, migrate: true, statements: None }
    }
}
