//! Where the nodes of a conformance case meet.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;

use super::sample::at;
use crate::{MemoryNodes, MemoryStore, Nodes, Result, Store};

/// Where nodes meet, such as a database: empty when created, and separate from every other place.
#[async_trait]
pub trait Meeting: Send + Sync + 'static {
    /// The store that they share.
    type Store: Store;

    /// Opens that store.
    async fn store(&self) -> Result<Self::Store>;

    /// Another node, as one in another process.
    async fn node(&self) -> Result<Arc<dyn Nodes>>;

    /// Lets so much time pass by the store's clock: every sign of life up to now is older by that.
    async fn pass(&self, time: Duration) -> Result<()>;
}

/// Nodes of a store in memory, on a clock that moves only with [`pass`](Meeting::pass).
pub struct InMemory {
    store: MemoryStore,
    first: MemoryNodes,
    clock: Arc<AtomicU64>,
}

impl InMemory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        let (store, clock) = (MemoryStore::default(), Arc::new(AtomicU64::new(0)));
        let passed = Arc::clone(&clock);
        let first = MemoryNodes::new(store.clone(), move || at(passed.load(Ordering::SeqCst)));
        Self { store, first, clock }
    }
}

impl Default for InMemory {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Meeting for InMemory {
    type Store = MemoryStore;

    async fn store(&self) -> Result<MemoryStore> {
        Ok(self.store.clone())
    }

    async fn node(&self) -> Result<Arc<dyn Nodes>> {
        Ok(Arc::new(self.first.another()))
    }

    async fn pass(&self, time: Duration) -> Result<()> {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.clock.fetch_add(micros, Ordering::SeqCst);
        Ok(())
    }
}
