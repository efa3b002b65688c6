//! An engine inside a program that opens it itself: where it keeps its rows, its model, and its work.

use std::{path::PathBuf, sync::Arc};

use entourage_engine::{
    Client, Clock, Engine, Transport,
    dispatch::{self, Dispatcher, Embedded},
};
use entourage_llm::Model;
use entourage_store::{MemoryStore, Store};
use entourage_store_sqlite::SqliteStore;
use tokio::{
    sync::Mutex,
    task::{JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;

use crate::{Result, Settings, agency::ModelChoice, choice, closable::Closable};

/// Where rows are kept.
pub(crate) enum Kept {
    /// In memory, for as long as the engine lives.
    InMemory,
    /// In this file.
    Database(PathBuf),
    /// In a store of the program.
    Own(Arc<dyn Store>),
}

impl Kept {
    /// Opens the store.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store) when the file cannot be used.
    pub(crate) fn open(self) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::InMemory => Arc::new(MemoryStore::default()),
            Self::Database(path) => Arc::new(SqliteStore::open(path, Default::default())?),
            Self::Own(store) => store,
        })
    }
}

/// The model that a program chose, or the one of these settings.
///
/// # Errors
/// As for [`choice`].
pub(crate) async fn chosen_model(
    chosen: Option<ModelChoice>,
    settings: impl FnOnce() -> Result<Settings>,
) -> Result<Arc<dyn Model>> {
    let named = match chosen {
        Some(ModelChoice::Own(model)) => return Ok(model),
        Some(ModelChoice::Named(name)) => Some(name),
        None => None,
    };
    let mut settings = settings()?;
    if named.is_some() {
        settings.models.default = named;
    }
    Ok(choice(&settings).await?.model)
}

/// An engine at work. Dropping it stops the work, which the next engine on the same database continues.
pub(crate) struct AtWork {
    pub(crate) client: Client,
    pub(crate) stop: CancellationToken,
    pub(crate) worker: Mutex<Option<JoinHandle<()>>>,
    pub(crate) store: Arc<Closable>,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl AtWork {
    /// A token for streams: once it is cancelled, dropping a stream stops no run. Closing cancels it, because
    /// unfinished runs continue with the next engine on the same database.
    pub(crate) fn stays(&self) -> CancellationToken {
        self.stop.child_token()
    }

    /// Stops the work, waits for it to end, and closes the database.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        let worker = self.worker.lock().await.take();
        if let Some(worker) = worker {
            // A worker that panicked has ended, too.
            let _ = worker.await;
        }
        self.store.close().await;
    }
}

/// Delivers wake-ups, and what is in the outbox if there is a transport, and runs the engine's maintenance until the engine
/// is stopping.
pub(crate) async fn work(
    engine: Engine,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    settings: dispatch::Settings,
    stop: CancellationToken,
    transport: Option<Arc<dyn Transport>>,
) {
    let advance = Arc::new(engine.clone());
    let agents = async {
        // Ends with this block: running activations have their grace period, without maintenance beside them.
        let mut beside = JoinSet::new();
        let kept_up = engine.clone();
        beside.spawn(async move { kept_up.keep_up().await });
        if let Some(transport) = transport {
            let delivering = engine.clone();
            beside.spawn(async move { delivering.deliver(transport).await });
        }
        if let Err(error) = Embedded::new(settings).run(advance, store, clock, stop).await {
            tracing::error!(%error, "the agents cannot continue");
        }
    };
    tokio::join!(agents, engine.save_threads());
    // Pending saves of a database in memory could not be made later.
    engine.flush_pending_saves().await;
}
