//! The embedded store is a store.

use async_trait::async_trait;
use entourage_store::{Result, conformance::Place};
use entourage_store_sqlite::{Durability, Settings, SqliteStore};
use tempfile::TempDir;

/// A database file in a directory of its own.
struct Directory(TempDir);

impl Directory {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }
}

#[async_trait]
impl Place for Directory {
    type Store = SqliteStore;

    async fn open(&self) -> Result<SqliteStore> {
        // The suite ends no machine; without a sync for each commit it takes a tenth of the time.
        let settings = Settings { durability: Durability::Normal, ..Settings::default() };
        SqliteStore::open(self.0.path().join("house.db"), settings)
    }
}

entourage_store::conformance!(Directory::new);
