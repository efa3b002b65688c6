//! What a world is put together from.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use entourage_engine::{Check, Courier, Kinds, Outbox, Receiver, ThreadKeeper, Tracer, dispatch::Settings};
use entourage_llm::Model;
use entourage_store::{Layered, MemoryStore, Store, StoreLayer};
use entourage_store_sqlite::{Durability, Settings as StoreSettings, SqliteStore};
use entourage_tools::Toolbox;

use crate::{
    FakeClock, Faults, Witness, World,
    world::{DATABASE, Parts, live, must},
};

/// Puts a world together.
#[must_use]
pub struct WorldBuilder {
    model: Arc<dyn Model>,
    tools: Toolbox,
    kinds: Kinds,
    kinds_in: Option<PathBuf>,
    workers: usize,
    places: usize,
    in_memory: bool,
    clock: FakeClock,
    tracer: Option<Arc<dyn Tracer>>,
    checks: Vec<(String, Arc<dyn Check>)>,
    outbox: Outbox,
    courier: Option<Arc<dyn Courier>>,
    keeper: Option<Arc<dyn ThreadKeeper>>,
    tool_servers: Vec<String>,
    give_up_after: u32,
    witness: Witness,
    patience: Option<Duration>,
    over: Option<Over>,
    left_behind: Option<LeftBehind>,
}

/// What makes a database before the world opens it.
type LeftBehind = Box<dyn FnOnce(&Path) + Send>;

/// What makes another store of a store.
type Over = Box<dyn FnOnce(Arc<dyn Store>) -> Arc<dyn Store> + Send>;

impl WorldBuilder {
    pub(crate) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            tools: Toolbox::new(),
            kinds: Kinds::builtin(),
            kinds_in: None,
            workers: 1,
            places: Settings::default().concurrency,
            in_memory: false,
            clock: FakeClock::default(),
            tracer: None,
            checks: Vec::new(),
            outbox: Outbox::default(),
            courier: None,
            keeper: None,
            tool_servers: Vec::new(),
            give_up_after: Settings::default().give_up_after,
            witness: Witness::default(),
            patience: None,
            over: None,
            left_behind: None,
        }
    }

    /// After how many ends of its process in a row a run is given up.
    pub fn give_up_after(mut self, ends: u32) -> Self {
        self.give_up_after = ends;
        self
    }

    /// The tools.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// The kinds; the built-in ones otherwise.
    pub fn kinds(mut self, kinds: Kinds) -> Self {
        self.kinds = kinds;
        self
    }

    /// Reads the kinds from the files of a directory, anew in each life and when they are reloaded.
    pub fn kinds_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.kinds_in = Some(directory.into());
        self
    }

    /// How many agents each worker lets work at once.
    pub fn places(mut self, places: usize) -> Self {
        self.places = places;
        self
    }

    /// The clock, when something else of the test must share it.
    pub fn clock(mut self, clock: FakeClock) -> Self {
        self.clock = clock;
        self
    }

    /// Who is told of what agents did, in each life.
    pub fn tracer(mut self, tracer: Arc<dyn Tracer>) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Who is told of tasks and questions, and who brings it to them, in each life.
    pub fn receivers(mut self, receivers: Vec<Receiver>, courier: Arc<dyn Courier>) -> Self {
        (self.outbox, self.courier) = (Outbox::new(receivers), Some(courier));
        self
    }

    /// Who keeps threads elsewhere, in each life.
    pub fn thread_keeper(mut self, keeper: Arc<dyn ThreadKeeper>) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// A check, by the name that kinds give it.
    pub fn check(mut self, name: &str, check: Arc<dyn Check>) -> Self {
        self.checks.push((name.to_owned(), check));
        self
    }

    /// Servers of tools that are being connected when the world starts.
    pub fn tool_servers(mut self, names: &[&str]) -> Self {
        self.tool_servers = names.iter().map(ToString::to_string).collect();
        self
    }

    /// Keeps the rows in memory instead of in a database file.
    pub fn in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    /// Who sees what happens, when a tool shall tell it too.
    pub fn witness(mut self, witness: &Witness) -> Self {
        self.witness = witness.clone();
        self
    }

    /// Who stands between every engine of this world and what is kept, in all lives: to hold a commit up,
    /// say.
    pub fn between(mut self, between: impl StoreLayer) -> Self {
        self.over = Some(Box::new(|store| Arc::new(Layered::new(store, between))));
        self
    }

    /// Makes the database file that the first life finds.
    pub fn left_behind(mut self, database: impl FnOnce(&Path) + Send + 'static) -> Self {
        self.left_behind = Some(Box::new(database));
        self
    }

    /// How long a commit waits for another program that holds the database file; as long as usual
    /// unless given.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// How many workers advance agents, each unaware of the others, as different processes are.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// A world without faults.
    pub async fn start(self) -> World {
        self.start_with(Faults::none()).await
    }

    /// A world whose first life has these faults.
    ///
    /// # Panics
    /// When the machine gives no temporary directory.
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
            kinds_in: self.kinds_in,
            workers: self.workers,
            places: self.places,
            tracer: self.tracer,
            checks: self.checks,
            outbox: self.outbox,
            courier: self.courier,
            keeper: self.keeper,
            tool_servers: self.tool_servers,
            give_up_after: self.give_up_after,
            directory,
        };
        live(store, self.clock, parts, faults, self.witness)
    }
}
