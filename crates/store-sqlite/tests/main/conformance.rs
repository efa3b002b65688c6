//! The embedded store is a store.

use async_trait::async_trait;
use entourage_store::{Result, conformance::Place};
use entourage_store_sqlite::{Settings, SqliteStore};
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
        SqliteStore::open(self.0.path().join("house.db"), Settings::default())
    }
}

entourage_store::conformance!(Directory::new);
