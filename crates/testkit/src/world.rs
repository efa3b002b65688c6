//! A house for one test, with a database of its own, and as many lives as the test needs.

use std::{path::PathBuf, sync::Arc, time::Duration};

use entourage_engine::{
    Builder, Client, Clock, House, Kinds, NewAgent, Signal, Tracer,
    dispatch::{Dispatcher, Embedded, Settings},
};
use entourage_llm::{Model, ScriptedModel};
use entourage_store::{MemoryStore, Store};
use entourage_store_sqlite::{Durability, Settings as StoreSettings, SqliteStore};
use entourage_tools::Toolbox;
use entourage_types::{Agent, AgentId, Event, EventBody, Owner, Question, QuestionStatus, Status};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{FakeClock, Faults, Faulty, Through, Violation, Witness, audit};

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

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
    witness: Witness,
}

/// A house for one test. Its database goes with the last world that uses it.
pub struct World {
    house: House,
    store: Arc<dyn Store>,
    clock: FakeClock,
    builder: Parts,
    stop: CancellationToken,
    workers: JoinSet<entourage_engine::Result<()>>,
    faults: Faults,
    witness: Witness,
}

struct Parts {
    model: Arc<dyn Model>,
    tools: Toolbox,
    kinds: Kinds,
    kinds_in: Option<PathBuf>,
    workers: usize,
    places: usize,
    tracer: Option<Arc<dyn Tracer>>,
    directory: Option<tempfile::TempDir>,
}

/// The name of the database in its directory.
const DATABASE: &str = "house.sqlite";

impl Parts {
    /// A house with this world's model and kinds.
    fn house(&self, store: &Arc<dyn Store>) -> Builder {
        let house = House::builder(Arc::clone(store), Arc::clone(&self.model));
        let Some(directory) = self.kinds_in.clone() else { return house.kinds(self.kinds.clone()) };
        let read = move || {
            let mut kinds = Kinds::none();
            kinds.load(&directory).map(|findings| (kinds, findings))
        };
        house.kinds(must(read(), "the kinds can be read").0).kinds_from(Arc::new(read))
    }
}

impl World {
    /// A world whose model is the given one.
    pub fn builder(model: impl Model) -> WorldBuilder {
        WorldBuilder {
            model: Arc::new(model),
            tools: Toolbox::new(),
            kinds: Kinds::builtin(),
            kinds_in: None,
            workers: 1,
            places: Settings::default().concurrency,
            in_memory: false,
            clock: FakeClock::default(),
            tracer: None,
            witness: Witness::default(),
        }
    }

    /// A world with a scripted model, the built-in kinds and these tools.
    pub async fn scripted(model: &ScriptedModel, tools: Toolbox) -> Self {
        Self::builder(model.clone()).tools(tools).start().await
    }

    /// The house of this life.
    #[must_use]
    pub fn house(&self) -> &House {
        &self.house
    }

    /// The store below all lives.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The file of the database, for whoever does damage to it; none of a world in memory.
    #[must_use]
    pub fn database(&self) -> Option<PathBuf> {
        self.builder.directory.as_ref().map(|directory| directory.path().join(DATABASE))
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &FakeClock {
        &self.clock
    }

    /// Who saw what happened, in all lives.
    #[must_use]
    pub fn witness(&self) -> &Witness {
        &self.witness
    }

    /// What is not as it always must be. Nothing may be under way.
    ///
    /// # Panics
    /// When the store cannot be read.
    pub async fn audit(&self) -> Vec<Violation> {
        must(audit(&*self.store, Some(&self.witness)).await, "the store answers")
    }

    /// The faults of this life.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What the local owner may see and do, read below all faults.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client_of(Owner::local())
    }

    /// What an owner may see and do, read below all faults.
    #[must_use]
    pub fn client_of(&self, owner: Owner) -> Client {
        self.beside().client(owner)
    }

    /// The house of whoever looks on: below all faults, and nothing works in it.
    #[must_use]
    pub fn beside(&self) -> House {
        self.beside_with(&Faults::none())
    }

    /// The house of whoever looks after it from a process of its own, which has these faults.
    #[must_use]
    pub fn beside_with(&self, faults: &Faults) -> House {
        let store: Arc<dyn Store> = Arc::new(Faulty::new(Arc::clone(&self.store), faults.clone()));
        self.builder.house(&store).clock(Arc::new(self.clock.clone())).build()
    }

    /// What the house's own upkeep finds that should not be, at whatever moment: runs that nothing will
    /// wake, waits for what will not happen, records that nobody will come to. Nothing, in a healthy house.
    ///
    /// # Panics
    /// When the store fails.
    pub async fn damages(&self) -> Vec<String> {
        let client = self.client();
        let mut damages = Vec::new();
        for job in must(client.jobs().await, "the store answers") {
            let found = must(client.damages(&job.round.job).await, "the store answers");
            damages.extend(found.into_iter().map(|damage| format!("{}: {}", damage.job, damage.text)));
        }
        damages
    }

    /// Gives a new agent its first message: of the kind that people talk to, or of the first kind
    /// where there is none.
    ///
    /// # Panics
    /// When the house refuses it.
    pub async fn ask(&self, text: &str) -> Agent {
        let kinds = self.house.kinds();
        let first = kinds.iter().next().filter(|_| kinds.get("assistant").is_none());
        self.ask_kind(first.map(|kind| &*kind.name), text).await
    }

    /// Gives a new agent of this kind its first message, as [`ask`](Self::ask) does.
    pub async fn ask_kind(&self, kind: Option<&str>, text: &str) -> Agent {
        let kind = kind.map(str::to_owned);
        let new = NewAgent { kind, message: Some(text.to_owned()), ..NewAgent::default() };
        must(self.client().create(new, None).await, "the house takes a message")
    }

    /// Waits until an event of the tree fits, and returns all events up to it.
    ///
    /// # Panics
    /// When that takes longer than a test may wait.
    pub async fn until(&self, root: AgentId, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut watch = must(self.client().watch(root, 0).await, "the tree exists");
        let mut seen = Vec::new();
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Signal::Event(event) = must(watch.next().await, "the store answers") {
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

    /// Waits until the root's run has ended, and returns the root.
    ///
    /// # Panics
    /// When that takes longer than a test may wait.
    pub async fn ended(&self, root: AgentId) -> Agent {
        self.until(root, |event| {
            let over = matches!(&event.body, EventBody::AgentStatus { status, .. } if status.is_terminal());
            over && event.agent == root
        })
        .await;
        must(self.client().agent(root).await, "the root exists")
    }

    /// Waits until a question of the tree is open, and returns it.
    ///
    /// # Panics
    /// When that takes longer than a test may wait.
    pub async fn question(&self, root: AgentId) -> Question {
        let events = self
            .until(root, |event| {
                matches!(&event.body, EventBody::Question { question } if question.status == QuestionStatus::Open)
            })
            .await;
        match events.into_iter().next_back().map(|event| event.body) {
            Some(EventBody::Question { question }) => *question,
            _ => unreachable!("the last event is the one waited for"),
        }
    }

    /// Waits until an agent sleeps.
    ///
    /// # Panics
    /// When that takes longer than a test may wait.
    pub async fn asleep(&self, agent: &Agent) {
        let id = agent.id;
        self.until(agent.root, |event| {
            event.agent == id && matches!(&event.body, EventBody::AgentStatus { status: Status::Waiting, .. })
        })
        .await;
    }

    /// Ends this life, as an end of the process would, and begins the next one on the same database.
    ///
    /// # Panics
    /// When a worker panicked.
    pub async fn reborn(self, faults: Faults) -> Self {
        let Self { store, clock, builder, stop, mut workers, witness, .. } = self;
        stop.cancel();
        workers.abort_all();
        while workers.join_next().await.is_some() {}
        live(store, clock, builder, faults, witness)
    }

    /// Waits until the process has died of its fault.
    pub async fn died(&self) {
        self.faults.died().await;
    }
}

impl WorldBuilder {
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
            let settings = StoreSettings { durability: Durability::Normal, ..StoreSettings::default() };
            let path = directory.path().join(DATABASE);
            (Arc::new(must(SqliteStore::open(&path, settings), "a database")), Some(directory))
        };
        let store = Arc::new(Through::new(store, self.witness.clone()));
        let parts = Parts {
            model: self.model,
            tools: self.tools,
            kinds: self.kinds,
            kinds_in: self.kinds_in,
            workers: self.workers,
            places: self.places,
            tracer: self.tracer,
            directory,
        };
        live(store, self.clock, parts, faults, self.witness)
    }
}

/// What a test cannot go on without.
fn must<T, E: std::fmt::Debug>(result: Result<T, E>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("not so: {what}: {error:?}"))
}

fn live(store: Arc<dyn Store>, clock: FakeClock, builder: Parts, faults: Faults, witness: Witness) -> World {
    let stop = CancellationToken::new();
    let seen: Arc<dyn Store> = Arc::new(Faulty::new(Arc::clone(&store), faults.clone()));
    let over = |store: &Arc<dyn Store>| {
        builder
            .house(store)
            .tools(builder.tools.clone())
            .clock(Arc::new(clock.clone()))
            .tracer(builder.tracer.clone())
            .stopping(stop.clone())
            .build()
    };
    let house = over(&seen);
    let mut workers = JoinSet::new();
    for nth in 0..builder.workers {
        let settings = Settings { grace: Duration::ZERO, concurrency: builder.places, ..Settings::default() };
        let house = if nth == 0 { house.clone() } else { over(&seen) };
        let (store, stop) = (Arc::clone(&seen), stop.clone());
        let clock: Arc<dyn Clock> = Arc::new(clock.clone());
        workers.spawn(async move { Embedded::new(settings).run(Arc::new(house), store, clock, stop).await });
    }
    let (rival, planned) = (over(&store), faults.clone());
    workers.spawn(async move { rival.advance(planned.lost().await).await });
    World { house, store, clock, builder, stop, workers, faults, witness }
}
