//! Dispatch by Restate, for many nodes that share a store.
//!
//! Each agent is a virtual object of Restate, which calls one handler of it, one call at a time, at any node. Nothing is
//! kept there: wake-ups are rows of the store, a call says no more than that one may be due, and a sweeper at
//! each node hands over again what nobody serves. Restate may lose everything it has. See
//! `docs/adr/0049-restate-delivers-and-remembers-nothing.md`.

mod agent;
mod at_once;
mod deliveries;
mod endpoint;
mod error;
mod examine;
mod ingress;
mod register;
mod sweeper;

use std::{
    fmt,
    net::SocketAddr,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{
    Clock, Error as EngineError, LocalSignals, Result as EngineResult, Signals,
    dispatch::{Advance, Dispatcher},
};
use entourage_store::Store;
use entourage_types::DatabaseId;
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc},
};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    deliveries::Deliveries,
    ingress::Ingress,
    sweeper::{Hints, Sweeper},
};

pub use error::Error;
pub use examine::{Call, Examined};
pub use register::register;

/// What every function returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How long a node that ends goes on handing over.
const LAST: Duration = Duration::from_secs(1);

/// The settings of the dispatcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where Restate takes what is sent to it. Who reaches it can set agents to work, and no more.
    pub ingress: Url,
    /// Where this node takes Restate's calls.
    pub listen: SocketAddr,
    /// The public key of the Restate whose calls this node takes (`publickeyv1_…`); those of any, if none is given.
    pub identity_key: Option<String>,
    /// The most agents at work at once at this node.
    pub concurrency: usize,
    /// How long activations in progress may take to end after the dispatcher is stopped.
    pub grace: Duration,
    /// Consecutive failures at this node after which an agent's run is ended.
    pub give_up_after: u32,
    /// The longest pause between two calls for an agent that fails. [Registering](register) tells it to Restate.
    pub longest_pause: Duration,
}

impl Settings {
    /// The settings for this Restate and this address, with the defaults of the others.
    #[must_use]
    pub fn new(ingress: Url, listen: SocketAddr) -> Self {
        Self {
            ingress,
            listen,
            identity_key: None,
            concurrency: 1024,
            grace: Duration::from_secs(5),
            give_up_after: 5,
            longest_pause: Duration::from_secs(60),
        }
    }
}

/// The dispatcher of one node. Clones are the same.
#[derive(Clone)]
pub struct Restate {
    settings: Settings,
    ingress: Ingress,
    socket: Arc<Mutex<Option<TcpListener>>>,
    signals: Arc<dyn Signals>,
}

impl fmt::Debug for Restate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restate").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Restate {
    /// A dispatcher with these settings.
    ///
    /// # Errors
    /// If the URL or the key is none, or there are no certificates for a URL with TLS.
    pub fn new(settings: Settings) -> Result<Self> {
        agent::check_key(settings.identity_key.as_deref())?;
        let ingress = Ingress::new(&settings.ingress)?;
        Ok(Self { settings, ingress, socket: Arc::default(), signals: Arc::new(LocalSignals) })
    }

    /// The same, for one of several nodes: it takes calls while the others [count on it](Signals::holds_lease).
    #[must_use]
    pub fn with_signals(mut self, signals: Arc<dyn Signals>) -> Self {
        self.signals = signals;
        self
    }

    /// The same, for the agents of this database alone: a node refuses calls for those of another one.
    #[must_use]
    pub fn of(mut self, database: DatabaseId) -> Self {
        self.ingress.database = Some(database);
        self
    }

    /// Hands over what a node schedules that works for no agent, and what it may have scheduled before this is called, until
    /// `stop` is cancelled; what it has scheduled by then is still handed over if Restate takes it soon.
    pub async fn hand_over(&self, store: Arc<dyn Store>, clock: Arc<dyn Clock>, stop: CancellationToken) {
        let (queue, to_send) = mpsc::channel(ingress::QUEUE);
        let behind = Notify::new();
        let hints = Hints { woken: store.woken(), queue: queue.clone(), behind: &behind };
        // The queue ends with it.
        let hearing = async {
            let unheard = async {
                loop {
                    sweeper::hand_over_first(&*store, &*clock, &queue).await;
                    behind.notified().await;
                }
            };
            tokio::select! {
                biased;
                () = hints.run(&*clock, |_| {}) => {}
                () = unheard => {}
                () = stop.cancelled() => {}
            }
            drop(queue);
        };
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(LAST).await;
        };
        tokio::select! {
            _ = futures::future::join(hearing, self.ingress.send_all(to_send, &*clock)) => {}
            () = too_late => {}
        }
    }

    /// Listens for calls, which are answered once it [runs](Dispatcher::run). Otherwise it listens only then.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub async fn listen(&self) -> Result<()> {
        let socket = self.bind().await?;
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
        Ok(())
    }

    async fn bind(&self) -> Result<TcpListener> {
        let Settings { listen, .. } = self.settings;
        TcpListener::bind(listen).await.map_err(|cause| Error::Address { listen, cause })
    }
}

#[async_trait]
impl Dispatcher for Restate {
    async fn run(
        &self,
        engine: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> EngineResult<()> {
        // Whatever ends this also cuts its activations.
        let over = CancellationToken::new();
        let _cut = over.clone().drop_guard();
        let stop = stop.child_token();
        let invalid = |error: Error| EngineError::Invalid(error.to_string());
        let bound = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        let listener = match bound {
            Some(listener) => listener,
            None => self.bind().await.map_err(invalid)?,
        };
        let parts = (Arc::clone(&engine), Arc::clone(&store), Arc::clone(&clock));
        let deliveries =
            Arc::new(Deliveries::new(&self.settings, self.ingress.database, parts, (stop.clone(), over)));
        let endpoint = agent::endpoint(Arc::clone(&deliveries), &self.settings).map_err(invalid)?;
        let (queue, to_send) = mpsc::channel(ingress::QUEUE);
        let behind = Notify::new();
        // Subscribe before the first sweep, so that no wake-up is missed in between.
        let hints = Hints { woken: store.woken(), queue: queue.clone(), behind: &behind };
        let sweeper = Sweeper::new(queue, &behind, &deliveries);
        let handing_over = async {
            tokio::select! {
                swept = sweeper.run(&*store, &*clock) => swept,
                () = hints.run(&*clock, |agent| engine.woken(agent)) => Ok(()),
                () = self.ingress.send_all(to_send, &*clock) => Ok(()),
            }
        };
        // What activations schedule while they end is handed over, too.
        let ended = async {
            // What does not end in time is cut, which loses nothing.
            let _ = tokio::time::timeout(self.settings.grace, deliveries.idle()).await;
        };
        let mut serving =
            pin!(endpoint::serve(listener, endpoint, &stop, ended, || self.signals.holds_lease()));
        let ended = tokio::select! {
            () = &mut serving => Ok(()),
            ended = handing_over => {
                // A node that hands nothing over takes no calls, either.
                stop.cancel();
                serving.await;
                ended
            }
        };
        engine.occupied(None);
        ended
    }
}
