//! An engine inside a program that opens it itself: where it keeps its rows, its model, and its work.

use std::{path::PathBuf, sync::Arc};

use entourage_engine::{Client, Engine, Transport, dispatch};
use entourage_llm::Model;
use entourage_store::{MemoryStore, Store};
use entourage_store_sqlite::SqliteStore;
use tokio::{sync::Mutex, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    Result, Settings,
    agency::ModelChoice,
    choice,
    closable::Closable,
    compose::{ByRestate, Place, by_restate, dispatch_settings, open_database},
    settings::Cluster,
};

/// Where rows are kept.
pub(crate) enum Kept {
    /// In memory, for as long as the engine lives.
    InMemory,
    /// In this file.
    Database(PathBuf),
    /// In a store of the program.
    Own(Arc<dyn Store>),
    /// Where these settings say.
    Set(Box<Settings>),
}

impl Kept {
    /// The database that other processes share, if the settings or the environment name one, for a program that has chosen
    /// no place of its own.
    ///
    /// # Errors
    /// [`Error::Settings`](crate::Error::Settings).
    pub(crate) fn shared() -> Result<Option<Self>> {
        let settings = Settings::load(None, None)?;
        Ok(settings.store.url.is_some().then(|| Self::Set(Box::new(settings))))
    }

    /// Whether it is where settings say, and not the program.
    pub(crate) const fn is_set(&self) -> bool {
        matches!(self, Self::Set(_))
    }

    /// How this process is one of those that share the store, if others can.
    pub(crate) fn cluster(&self) -> Cluster {
        match self {
            Self::Set(settings) => settings.cluster.clone(),
            Self::InMemory | Self::Database(_) | Self::Own(_) => Cluster::default(),
        }
    }

    /// How agents are scheduled, if settings say.
    pub(crate) fn dispatch(&self) -> dispatch::Settings {
        match self {
            Self::Set(settings) => dispatch_settings(settings),
            Self::InMemory | Self::Database(_) | Self::Own(_) => dispatch::Settings::default(),
        }
    }

    /// The part of this process in what Restate delivers, if the settings choose that.
    ///
    /// # Errors
    /// As for [`by_restate`].
    pub(crate) fn by_restate(&self, cluster: &Cluster) -> Result<Option<ByRestate>> {
        match self {
            Self::Set(settings) => by_restate(settings, cluster),
            Self::InMemory | Self::Database(_) | Self::Own(_) => Ok(None),
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store) when it cannot be used.
    pub(crate) async fn open(self) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::InMemory => Arc::new(MemoryStore::default()),
            Self::Database(path) => Arc::new(SqliteStore::open(path, Default::default())?),
            Self::Own(store) => store,
            Self::Set(settings) => open_database(&settings).await?,
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

/// Works in this place until the engine is stopping, and saves threads to the program's own store of them.
pub(crate) async fn work(engine: Engine, place: Place, transport: Option<Arc<dyn Transport>>) {
    let agents = async {
        if let Err(error) = place.work(engine.clone(), Arc::new(engine.clone()), transport).await {
            tracing::error!(%error, "the agents cannot continue");
        }
    };
    tokio::join!(agents, engine.save_threads());
    // Pending saves of a database in memory could not be made later.
    engine.flush_pending_saves().await;
}
