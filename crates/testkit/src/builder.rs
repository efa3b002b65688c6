//! The configuration of a [`World`].

use std::{path::Path, sync::Arc, time::Duration};

use entourage_engine::{
    Builder, Guardrail, Kinds, Outbox, Receiver, ThreadStore, Tracer, Transport, dispatch::Settings,
};
use entourage_llm::Model;
use entourage_store::{Layered, MemoryStore, Store, StoreLayer};
use entourage_store_sqlite::{Durability, Settings as StoreSettings, SqliteStore};
use entourage_tools::Toolbox;

use crate::{
    FakeClock, Faults, Witness, World,
    world::{DATABASE, Parts, live, must},
};

/// Builds a world.
#[must_use]
pub struct WorldBuilder {
    model: Arc<dyn Model>,
    tools: Toolbox,
    kinds: Kinds,
    workers: usize,
    places: usize,
    in_memory: bool,
    clock: FakeClock,
    tracer: Option<Arc<dyn Tracer>>,
    guardrails: Vec<(String, Arc<dyn Guardrail>)>,
    outbox: Outbox,
    transport: Option<Arc<dyn Transport>>,
    thread_store: Option<Arc<dyn ThreadStore>>,
    with: Box<dyn Fn(Builder) -> Builder + Send + Sync>,
    witness: Witness,
    patience: Option<Duration>,
    over: Option<WrapStore>,
    left_behind: Option<PrepareDatabase>,
}

/// Creates a database before the world opens it.
type PrepareDatabase = Box<dyn FnOnce(&Path) + Send>;

/// Wraps a store in another store.
type WrapStore = Box<dyn FnOnce(Arc<dyn Store>) -> Arc<dyn Store> + Send>;

impl WorldBuilder {
    pub(crate) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            tools: Toolbox::new(),
            kinds: Kinds::builtin(),
            workers: 1,
            places: Settings::default().concurrency,
            in_memory: false,
            clock: FakeClock::default(),
            tracer: None,
            guardrails: Vec::new(),
            outbox: Outbox::default(),
            transport: None,
            thread_store: None,
            with: Box::new(|engine| engine),
            witness: Witness::default(),
            patience: None,
            over: None,
            left_behind: None,
        }
    }

    /// The tools.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// The kinds; the built-in ones if not given.
    pub fn kinds(mut self, kinds: Kinds) -> Self {
        self.kinds = kinds;
        self
    }

    /// How many agents each worker runs at once.
    pub fn places(mut self, places: usize) -> Self {
        self.places = places;
        self
    }

    /// The clock, if other parts of the test must share it.
    pub fn clock(mut self, clock: FakeClock) -> Self {
        self.clock = clock;
        self
    }

    /// The tracer that receives what agents did, in each process.
    pub fn tracer(mut self, tracer: Arc<dyn Tracer>) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// The receivers of task and question events, and the transport that delivers to them, in each
    /// process.
    pub fn receivers(mut self, receivers: Vec<Receiver>, transport: Arc<dyn Transport>) -> Self {
        (self.outbox, self.transport) = (Outbox::new(receivers), Some(transport));
        self
    }

    /// The thread store, in each process.
    pub fn thread_store(mut self, thread_store: Arc<dyn ThreadStore>) -> Self {
        self.thread_store = Some(thread_store);
        self
    }

    /// Adds a guardrail under the name that kinds use.
    pub fn guardrail(mut self, name: &str, check: Arc<dyn Guardrail>) -> Self {
        self.guardrails.push((name.to_owned(), check));
        self
    }

    /// What else every engine of this world is built with, in each process.
    pub fn engine(mut self, with: impl Fn(Builder) -> Builder + Send + Sync + 'static) -> Self {
        self.with = Box::new(with);
        self
    }

    /// Keeps the rows in memory instead of in a database file.
    pub fn in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    /// The witness, if a tool must report to it too.
    pub fn witness(mut self, witness: &Witness) -> Self {
        self.witness = witness.clone();
        self
    }

    /// A layer between every engine of this world and the store, in all processes: for example to
    /// delay a commit.
    pub fn between(mut self, between: impl StoreLayer) -> Self {
        self.over = Some(Box::new(|store| Arc::new(Layered::new(store, between))));
        self
    }

    /// Creates the database file that the first process finds.
    pub fn left_behind(mut self, database: impl FnOnce(&Path) + Send + 'static) -> Self {
        self.left_behind = Some(Box::new(database));
        self
    }

    /// How long a commit waits for another program that holds the database file; the default if not
    /// given.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// How many workers advance agents, each unaware of the others, like separate processes.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Starts a world without faults.
    pub async fn start(self) -> World {
        self.start_with(Faults::none()).await
    }

    /// Starts a world whose first process has these faults.
    ///
    /// # Panics
    /// If the machine gives no temporary directory.
    pub async fn start_with(self, faults: Faults) -> World {
        let (store, directory): (Arc<dyn Store>, _) = if self.in_memory {
            (Arc::new(MemoryStore::default()), None)
        } else {
            let directory = must(tempfile::tempdir(), "a temporary directory");
            let usual = StoreSettings::default();
            let patience = self.patience.unwrap_or(usual.patience);
            let settings = StoreSettings { durability: Durability::Normal, patience, ..usual };
            let path = directory.path().join(DATABASE);
            if let Some(make) = self.left_behind {
                make(&path);
            }
            (Arc::new(must(SqliteStore::open(&path, settings), "a database")), Some(directory))
        };
        let store: Arc<dyn Store> = Arc::new(Layered::new(store, self.witness.clone()));
        let store = match self.over {
            Some(over) => over(store),
            None => store,
        };
        let parts = Parts {
            model: self.model,
            tools: self.tools,
            kinds: self.kinds,
            workers: self.workers,
            places: self.places,
            tracer: self.tracer,
            guardrails: self.guardrails,
            outbox: self.outbox,
            transport: self.transport,
            thread_store: self.thread_store,
            with: self.with,
            directory,
        };
        live(store, self.clock, parts, faults, self.witness)
    }
}
