//! The embedded dispatcher passes the conformance suite for dispatchers.

use std::{sync::Arc, time::Duration};

use entourage_engine::{
    Clock,
    dispatch::{Dispatcher, Embedded, Settings, conformance::Subject},
    dispatcher_conformance,
};
use entourage_store::Store;
use entourage_store_sqlite::{Durability, Settings as StoreSettings, SqliteStore};
use entourage_testkit::FakeClock;

struct Local {
    store: Arc<SqliteStore>,
    clock: FakeClock,
    _directory: tempfile::TempDir,
}

impl Local {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let settings = StoreSettings { durability: Durability::Normal, ..StoreSettings::default() };
        let store = SqliteStore::open(directory.path().join("engine.sqlite"), settings).unwrap();
        Self { store: Arc::new(store), clock: FakeClock::default(), _directory: directory }
    }
}

impl Subject for Local {
    fn store(&self) -> Arc<dyn Store> {
        Arc::<SqliteStore>::clone(&self.store)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.clock.clone())
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    fn dispatcher(&self, concurrency: usize) -> Arc<dyn Dispatcher> {
        let settings = Settings { concurrency, give_up_after: 3, ..Settings::default() };
        Arc::new(Embedded::new(settings))
    }
}

dispatcher_conformance!(Local::new());
