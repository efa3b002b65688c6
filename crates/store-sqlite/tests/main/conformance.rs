//! The embedded store passes the conformance suite.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use entourage_store::{
    Result,
    conformance::{Backing, handles::Handles},
};
use entourage_store_sqlite::{Durability, Settings, SqliteStore, Statements};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::plans;

/// A database file in its own directory, and all statements that began on it.
struct Directory {
    directory: TempDir,
    begun: Arc<Mutex<BTreeSet<String>>>,
}

impl Directory {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), begun: Arc::default() }
    }

    fn database(&self) -> PathBuf {
        self.directory.path().join("entourage.db")
    }
}

/// Whatever a property asks of the store, no statement scans rows that grow with what has ended.
impl Drop for Directory {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let begun = self.begun.lock().unwrap();
            plans::expect_narrow(&Connection::open(self.database()).unwrap(), begun.iter());
        }
    }
}

#[async_trait]
impl Backing for Directory {
    type Store = SqliteStore;

    async fn open(&self) -> Result<SqliteStore> {
        // The suite has no loss of power; without a sync for each commit it takes a tenth of the time.
        let begun = Arc::clone(&self.begun);
        let statements = Statements::new(move |sql| {
            begun.lock().unwrap().insert(sql.to_owned());
        });
        let settings =
            Settings { durability: Durability::Normal, statements: Some(statements), ..Settings::default() };
        SqliteStore::open(self.database(), settings)
    }
}

#[async_trait]
impl Handles for Directory {
    async fn open_two(&self) -> Result<[SqliteStore; 2]> {
        let store = self.open().await?;
        Ok([store.handle(), store])
    }
}

entourage_store::conformance!(Directory::new);
entourage_store::conformance_of_handles!(Directory::new);
