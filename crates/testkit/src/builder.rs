//! The configuration of a [`World`].

use std::sync::Arc;

use entourage_engine::{Builder, Kinds, dispatch::Settings};
use entourage_llm::Model;
use entourage_store::{Layered, Store, StoreLayer};
use entourage_store_sqlite::{Durability, Settings as StoreSettings, SqliteStore};
use entourage_tools::Toolbox;
use entourage_types::{Kind, Section};

use crate::{
    FakeClock, Faults, Witness, World,
    received::Received,
    world::{Parts, live, must},
};

/// Builds a world.
#[must_use]
pub struct WorldBuilder {
    model: Arc<dyn Model>,
    received: Received,
    tools: Toolbox,
    kinds: Kinds,
    dispatchers: Vec<Settings>,
    clock: FakeClock,
    with: Box<dyn Fn(Builder) -> Builder + Send + Sync>,
    witness: Witness,
    is_witnessed: bool,
    store: Option<Arc<dyn Store>>,
    over: Option<WrapStore>,
}

/// The kinds without the time, so that transcripts consist of what was said and done.
#[must_use]
pub fn quiet(kinds: Kinds) -> Kinds {
    kinds.iter().fold(Kinds::none(), |quiet, kind| {
        let mut kind = Kind::clone(kind);
        kind.context.sections.retain(|section| *section != Section::Time);
        kind.version.clear();
        quiet.with(kind)
    })
}

/// Wraps a store in another store.
type WrapStore = Box<dyn FnOnce(Arc<dyn Store>) -> Arc<dyn Store> + Send>;

impl WorldBuilder {
    pub(crate) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            received: Received::default(),
            tools: Toolbox::new(),
            kinds: quiet(Kinds::builtin()),
            dispatchers: vec![Settings::default()],
            clock: FakeClock::default(),
            with: Box::new(|engine| engine),
            witness: Witness::default(),
            is_witnessed: true,
            store: None,
            over: None,
        }
    }

    /// The tools.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// The kinds; if not given, the built-in ones, whose models do not read the time.
    pub fn kinds(mut self, kinds: Kinds) -> Self {
        self.kinds = kinds;
        self
    }

    /// The clock, if other parts of the test must share it.
    pub fn clock(mut self, clock: FakeClock) -> Self {
        self.clock = clock;
        self
    }

    /// What else every engine of this world is built with, in each process: guardrails, for
    /// example.
    pub fn engine(mut self, with: impl Fn(Builder) -> Builder + Send + Sync + 'static) -> Self {
        let before = self.with;
        self.with = Box::new(move |engine| with(before(engine)));
        self
    }

    /// The store; a database file that is deleted with the world if not given. A `MemoryStore` is
    /// ten times as fast.
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// A layer between every engine of this world and the store, in all processes: for example to
    /// delay a commit.
    pub fn between(mut self, between: impl StoreLayer) -> Self {
        self.over = Some(Box::new(|store| Arc::new(Layered::new(store, between))));
        self
    }

    /// The dispatchers that advance agents, each unaware of the others, like separate processes;
    /// one if not given.
    pub fn dispatchers(mut self, dispatchers: impl IntoIterator<Item = Settings>) -> Self {
        self.dispatchers = dispatchers.into_iter().collect();
        self
    }

    /// The witness, if a tool must report to it too.
    pub(crate) fn witness(mut self, witness: &Witness) -> Self {
        self.witness = witness.clone();
        self
    }

    /// Keeps no record of what happens, which would grow with it: for tests of what a process holds in memory. An audit
    /// then judges what is stored, and nobody can wait for an agent or a question.
    pub fn unwitnessed(mut self) -> Self {
        self.is_witnessed = false;
        self
    }

    /// Starts the first process, without [faults](World::faults).
    ///
    /// # Panics
    /// If the machine gives no temporary directory.
    pub async fn start(self) -> World {
        let (store, directory) = match self.store {
            Some(store) => (store, None),
            None => {
                let directory = must(tempfile::tempdir(), "a temporary directory");
                let settings = StoreSettings { durability: Durability::Normal, ..StoreSettings::default() };
                let path = directory.path().join("engine.sqlite");
                let store: Arc<dyn Store> = Arc::new(must(SqliteStore::open(&path, settings), "a database"));
                (store, Some(directory))
            }
        };
        let store: Arc<dyn Store> = match self.is_witnessed {
            true => Arc::new(Layered::new(store, self.witness.clone())),
            false => store,
        };
        let store = match self.over {
            Some(over) => over(store),
            None => store,
        };
        let parts = Parts {
            model: self.model,
            received: self.received,
            tools: self.tools,
            kinds: self.kinds,
            dispatchers: self.dispatchers,
            with: self.with,
            is_witnessed: self.is_witnessed,
            _directory: directory,
        };
        live(store, self.clock, parts, Faults::default(), self.witness)
    }
}
