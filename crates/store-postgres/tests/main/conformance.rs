//! The store passes the conformance suite, with one handle, with two at once, and with nodes.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::{
    Layered, MemoryStore, Nodes, Result, Store, StoreLayer,
    conformance::{
        Backing,
        handles::Handles,
        nodes::{InMemory, Meeting},
    },
};
use entourage_store_postgres::Settings;

use crate::server::{Scratch, run};

/// Where a store keeps its rows: a database, or memory where there is no server, so that the suite has something to run
/// on. [`server::url`](crate::server::url) has said so then.
enum Place {
    Database(Scratch),
    Memory(MemoryStore),
}

/// A layer that changes nothing.
struct Plain;

impl StoreLayer for Plain {}

impl Place {
    fn new() -> Self {
        Scratch::new().map_or_else(|| Self::Memory(MemoryStore::default()), Self::Database)
    }

    async fn store(&self) -> Result<Arc<dyn Store>> {
        let settings = Settings { writers: 4, readers: 4, ..Settings::default() };
        Ok(match self {
            Self::Database(scratch) => Arc::new(scratch.open(settings).await?),
            Self::Memory(store) => Arc::new(store.handle()),
        })
    }
}

#[async_trait]
impl Backing for Place {
    type Store = Layered<Plain>;

    async fn open(&self) -> Result<Self::Store> {
        Ok(Layered::new(self.store().await?, Plain))
    }
}

#[async_trait]
impl Handles for Place {
    async fn open_two(&self) -> Result<[Self::Store; 2]> {
        Ok([self.open().await?, self.open().await?])
    }
}

/// Where nodes meet: a database, or memory where there is no server.
enum NodesPlace {
    Database(Scratch),
    Memory(InMemory),
}

impl NodesPlace {
    fn new() -> Self {
        Scratch::new().map_or_else(|| Self::Memory(InMemory::new()), Self::Database)
    }
}

#[async_trait]
impl Meeting for NodesPlace {
    type Store = Layered<Plain>;

    async fn store(&self) -> Result<Self::Store> {
        let store: Arc<dyn Store> = match self {
            Self::Database(scratch) => Arc::new(scratch.open(Settings::default()).await?),
            Self::Memory(memory) => Arc::new(memory.store().await?),
        };
        Ok(Layered::new(store, Plain))
    }

    async fn node(&self) -> Result<Arc<dyn Nodes>> {
        match self {
            Self::Database(_) => Ok(self.store().await?.nodes().unwrap()),
            Self::Memory(memory) => memory.node().await,
        }
    }

    async fn pass(&self, time: Duration) -> Result<()> {
        match self {
            Self::Database(scratch) => {
                let micros = time.as_micros();
                let older = format!("UPDATE nodes SET beat = beat - {micros}, started = started - {micros}");
                run(&scratch.url(), &[older]).await;
                Ok(())
            }
            Self::Memory(memory) => memory.pass(time).await,
        }
    }
}

entourage_store::conformance!(Place::new);
entourage_store::conformance_of_handles!(Place::new);
entourage_store::conformance_of_nodes!(NodesPlace::new);
