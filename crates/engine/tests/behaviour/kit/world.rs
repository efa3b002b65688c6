//! What only these tests ask of a world.

use std::{future::Future, path::PathBuf, sync::Arc, time::Duration};

use entourage_engine::{Clock, Engine, Error, Guardrail, NewAgent, Signal, dispatch};
use entourage_llm::ScriptedModel;
use entourage_store::{Layered, Store};
use entourage_store_sqlite::{Durability, Settings, SqliteStore};
use entourage_testkit::{Fault, Faults, World, WorldBuilder};
use entourage_tools::Toolbox;
use entourage_types::{Agent, AgentId, Event, Status};

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the result of something that must happen; a test that waits for it fails instead of
/// hanging.
pub(crate) async fn within<T>(what: &str, happens: impl Future<Output = T>) -> T {
    let happened = tokio::time::timeout(PATIENCE, happens).await;
    happened.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}

/// Looks again and again until what is found matches, and returns it.
pub(crate) async fn eventually<T, F: Future<Output = T>>(
    what: &str,
    look: impl Fn() -> F,
    fits: impl Fn(&T) -> bool,
) -> T {
    within(what, async {
        loop {
            let found = look().await;
            if fits(&found) {
                return found;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// A dispatcher that has this many agents at work at once.
pub(crate) fn at_once(concurrency: usize) -> [dispatch::Settings; 1] {
    [dispatch::Settings { concurrency, ..dispatch::Settings::default() }]
}

/// Waits until the process with these faults has died.
pub(crate) async fn death_of(faults: &Faults) {
    faults.unless_dead(std::future::pending::<()>()).await;
}

/// Does something in a world whose process may die meanwhile: then it is done again in the next process.
pub(crate) async fn insist<T>(world: World, does: impl AsyncFn(&World) -> Result<T, Error>) -> (World, T) {
    let mut world = world;
    loop {
        let faults = world.faults().clone();
        match faults.unless_dead(does(&world)).await {
            Some(done) => {
                let done = done.unwrap_or_else(|error| panic!("{error:?}"));
                return (world, done);
            }
            None => world = world.restart(Faults::default()).await,
        }
    }
}

pub(crate) trait WorldExt {
    /// Starts a world with a scripted model, the built-in kinds and these tools.
    async fn scripted(model: &ScriptedModel, tools: Toolbox) -> World;

    /// The engine of an operator in a separate process, which has these faults.
    fn operator_with(&self, faults: &Faults) -> Engine;

    /// The inconsistencies that the engine's own maintenance finds at this moment: runs that
    /// nothing will wake, waits for events that will not happen, records that no activation will
    /// read. A healthy engine has none.
    async fn inconsistencies(&self) -> Vec<String>;

    /// Creates an agent of this kind with its first message.
    async fn ask_kind(&self, kind: Option<&str>, text: &str) -> Agent;

    /// Waits until an event of the tree matches, and returns all events up to it.
    async fn until(&self, root: AgentId, fits: impl Fn(&Event) -> bool) -> Vec<Event>;

    /// Waits until an agent sleeps and no wake-up is due.
    async fn asleep(&self, agent: &Agent);
}

impl WorldExt for World {
    async fn scripted(model: &ScriptedModel, tools: Toolbox) -> World {
        World::builder(model.clone()).tools(tools).start().await
    }

    fn operator_with(&self, faults: &Faults) -> Engine {
        let store: Arc<dyn Store> = Arc::new(Layered::new(Arc::clone(self.store()), faults.clone()));
        Engine::builder(store, Arc::new(ScriptedModel::new([])))
            .kinds((*self.engine().kinds()).clone())
            .clock(Arc::new(self.clock().clone()))
            .build()
    }

    async fn inconsistencies(&self) -> Vec<String> {
        let client = self.client();
        let mut texts = Vec::new();
        for job in client.jobs().await.unwrap() {
            let found = client.inconsistencies(&job.job_run.job).await.unwrap();
            texts.extend(found.into_iter().map(|found| format!("{}: {}", found.job, found.text)));
        }
        texts
    }

    async fn ask_kind(&self, kind: Option<&str>, text: &str) -> Agent {
        let kind = kind.map(str::to_owned);
        let new = NewAgent { kind, message: Some(text.to_owned()), ..NewAgent::default() };
        self.client().create(new, None).await.unwrap()
    }

    async fn until(&self, root: AgentId, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut watch = self.client().watch(root, 0).await.unwrap();
        let mut seen = Vec::new();
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Signal::Event(event) = watch.next().await.unwrap() {
                    seen.push((*event).clone());
                    if fits(&event) {
                        return;
                    }
                }
            }
        });
        if found.await.is_err() {
            let last: Vec<_> = seen.iter().map(|event| format!("{event:?}")).collect();
            panic!("it did not happen; events so far:\n{}", last.join("\n"));
        }
        seen
    }

    async fn asleep(&self, agent: &Agent) {
        let (client, id) = (self.client(), agent.id);
        let is_asleep = async || {
            let status = client.agent(id).await.unwrap().status;
            let due = self.store().due(self.clock().now(), None, u32::MAX).await.unwrap();
            status == Status::Waiting && due.iter().all(|wakeup| wakeup.agent != id)
        };
        eventually("the agent sleeps", is_asleep, |is_asleep| *is_asleep).await;
    }
}

pub(crate) trait WorldBuilderExt {
    /// Starts a world whose first process has this fault at this commit.
    async fn start_with(self, at: u64, fault: Fault) -> World;

    /// Adds a guardrail under the name that kinds use.
    fn guardrail(self, name: &'static str, check: Arc<dyn Guardrail>) -> WorldBuilder;
}

impl WorldBuilderExt for WorldBuilder {
    async fn start_with(self, at: u64, fault: Fault) -> World {
        let world = self.start().await;
        world.faults().plan(at, fault);
        world
    }

    fn guardrail(self, name: &'static str, check: Arc<dyn Guardrail>) -> WorldBuilder {
        self.engine(move |engine| engine.guardrail(name, Arc::clone(&check)))
    }
}

/// A database file that a test opens too, as a person with `sqlite3` may. It is deleted when this is
/// dropped.
pub(crate) struct Database(tempfile::TempDir);

impl Database {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("engine.sqlite")
    }

    /// Opens the store in it.
    pub(crate) fn open(&self) -> SqliteStore {
        self.open_with(Settings::default())
    }

    /// Opens the store in it, with these settings.
    pub(crate) fn open_with(&self, settings: Settings) -> SqliteStore {
        let settings = Settings { durability: Durability::Normal, ..settings };
        SqliteStore::open(self.path(), settings).unwrap()
    }

    /// Changes it past the store.
    pub(crate) fn execute(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}
