//! An engine for one test, with a database of its own, and as many consecutive processes as the
//! test needs.

use std::{path::PathBuf, sync::Arc, time::Duration};

use entourage_engine::{
    Builder, Client, Clock, Engine, Guardrail, Kinds, NewAgent, Outbox, Signal, ThreadStore, Tracer,
    Transport,
    dispatch::{Dispatcher, Embedded, Settings},
};
use entourage_llm::{Model, ScriptedModel};
use entourage_store::{Commit, Page, Store};
use entourage_tools::Toolbox;
use entourage_types::{Agent, AgentId, Event, Owner, Question, QuestionStatus, Status};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{FakeClock, Faults, Violation, Witness, WorldBuilder, audit, faults::Faulty};

/// How long a test waits for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the result of something that must happen; a test that waits for it fails instead of
/// hanging.
///
/// # Panics
/// If it takes longer than a test may wait.
pub async fn within<T>(what: &str, happens: impl Future<Output = T>) -> T {
    let happened = tokio::time::timeout(PATIENCE, happens).await;
    happened.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}

/// An engine for one test. Its database is deleted with the last world that uses it.
pub struct World {
    engine: Engine,
    store: Arc<dyn Store>,
    clock: FakeClock,
    builder: Parts,
    stop: CancellationToken,
    workers: JoinSet<entourage_engine::Result<()>>,
    faults: Faults,
    witness: Witness,
}

pub(crate) struct Parts {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: Toolbox,
    pub(crate) kinds: Kinds,
    pub(crate) workers: usize,
    pub(crate) places: usize,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
    pub(crate) guardrails: Vec<(String, Arc<dyn Guardrail>)>,
    pub(crate) outbox: Outbox,
    pub(crate) transport: Option<Arc<dyn Transport>>,
    pub(crate) thread_store: Option<Arc<dyn ThreadStore>>,
    pub(crate) with: Box<dyn Fn(Builder) -> Builder + Send + Sync>,
    pub(crate) directory: Option<tempfile::TempDir>,
}

/// The name of the database in its directory.
pub(crate) const DATABASE: &str = "engine.sqlite";

impl Parts {
    /// An engine with this world's model and kinds. Each worker has its own, and each of them counts an end
    /// of the process that they share.
    fn engine(&self, store: &Arc<dyn Store>) -> Builder {
        let engine = Engine::builder(Arc::clone(store), Arc::clone(&self.model))
            .kinds(self.kinds.clone())
            .outbox(self.outbox.clone())
            .give_up_after(Settings::default().give_up_after * self.workers.max(1) as u32);
        let engine = self
            .guardrails
            .iter()
            .fold(engine, |engine, (name, check)| engine.guardrail(name, check.clone()));
        let engine = match &self.thread_store {
            Some(thread_store) => engine.thread_store(Arc::clone(thread_store)),
            None => engine,
        };
        (self.with)(engine)
    }
}

impl World {
    /// Configures a world with this model.
    pub fn builder(model: impl Model) -> WorldBuilder {
        WorldBuilder::new(Arc::new(model))
    }

    /// Starts a world with a scripted model, the built-in kinds and these tools.
    pub async fn scripted(model: &ScriptedModel, tools: Toolbox) -> Self {
        Self::builder(model.clone()).tools(tools).start().await
    }

    /// The engine of the current process.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The store below the faults of all processes.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The database file, for tests that damage it; none for a world in memory.
    #[must_use]
    pub fn database(&self) -> Option<PathBuf> {
        self.builder.directory.as_ref().map(|directory| directory.path().join(DATABASE))
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &FakeClock {
        &self.clock
    }

    /// The witness of all processes.
    #[must_use]
    pub fn witness(&self) -> &Witness {
        &self.witness
    }

    /// The violated invariants. Nothing may be under way.
    ///
    /// # Panics
    /// If the store cannot be read.
    pub async fn audit(&self) -> Vec<Violation> {
        must(audit(&*self.store, Some(&self.witness)).await, "the store answers")
    }

    /// The faults of the current process.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// A client of the local owner, which reads below all faults.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client_of(Owner::local())
    }

    /// A client of an owner, which reads below all faults.
    #[must_use]
    pub fn client_of(&self, owner: Owner) -> Client {
        self.beside().client(owner)
    }

    /// An engine for observers: below all faults, and without workers.
    #[must_use]
    pub fn beside(&self) -> Engine {
        self.beside_with(&Faults::none())
    }

    /// The engine of an operator in a separate process, which has these faults.
    #[must_use]
    pub fn beside_with(&self, faults: &Faults) -> Engine {
        let store: Arc<dyn Store> = Arc::new(Faulty::new(Arc::clone(&self.store), faults.clone()));
        self.builder.engine(&store).clock(Arc::new(self.clock.clone())).build()
    }

    /// The inconsistencies that the engine's own maintenance finds at this moment: runs that
    /// nothing will wake, waits for events that will not happen, records that no activation will
    /// read. A healthy engine has none.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn inconsistencies(&self) -> Vec<String> {
        let client = self.client();
        let mut inconsistencies = Vec::new();
        for job in must(client.jobs().await, "the store answers") {
            let found = must(client.inconsistencies(&job.job_run.job).await, "the store answers");
            inconsistencies.extend(
                found
                    .into_iter()
                    .map(|inconsistency| format!("{}: {}", inconsistency.job, inconsistency.text)),
            );
        }
        inconsistencies
    }

    /// Creates an agent with its first message: of the kind `assistant`, or of the first kind if
    /// there is no such kind.
    ///
    /// # Panics
    /// If the engine refuses it.
    pub async fn ask(&self, text: &str) -> Agent {
        let kinds = self.engine.kinds();
        let first = kinds.iter().next().filter(|_| kinds.get("assistant").is_none());
        self.ask_kind(first.map(|kind| &*kind.name), text).await
    }

    /// Creates an agent of this kind with its first message, as [`ask`](Self::ask) does.
    pub async fn ask_kind(&self, kind: Option<&str>, text: &str) -> Agent {
        let kind = kind.map(str::to_owned);
        let new = NewAgent { kind, message: Some(text.to_owned()), ..NewAgent::default() };
        must(self.client().create(new, None).await, "the engine takes a message")
    }

    /// Waits until an event of the tree matches, and returns all events up to it.
    ///
    /// # Panics
    /// If that takes longer than a test may wait.
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

    /// Returns the agent once its row matches and no wake-up is due that could change that.
    async fn at_rest(&self, id: AgentId, what: &str, fits: impl Fn(Status) -> bool) -> Agent {
        let (client, mut news) = (self.client(), self.witness.news());
        let rests = async {
            loop {
                news.mark_unchanged();
                let agent = must(client.agent(id).await, "the agent exists");
                let due = must(self.store.due(self.clock.now(), None, u32::MAX).await, "the store answers");
                let is_woken =
                    agent.status != Status::Cancelled && due.iter().any(|wakeup| wakeup.agent == id);
                if fits(agent.status) && !is_woken {
                    return agent;
                }
                must(news.changed().await, "the witness is there");
            }
        };
        within(&format!("{id} {what}"), rests).await
    }

    /// Waits until the root's run has ended and no further work is due, and returns the root.
    ///
    /// # Panics
    /// If that takes longer than a test may wait.
    pub async fn ended(&self, root: AgentId) -> Agent {
        self.at_rest(root, "has ended", Status::is_terminal).await
    }

    /// Waits until a question of the tree is open, and returns the oldest open one.
    ///
    /// # Panics
    /// If that takes longer than a test may wait.
    pub async fn question(&self, root: AgentId) -> Question {
        let (client, mut news) = (self.client(), self.witness.news());
        let asked = async {
            loop {
                news.mark_unchanged();
                let open = client.questions(Some(root), Some(QuestionStatus::Open), Page::default()).await;
                if let Some(question) = must(open, "the store answers").into_iter().next() {
                    return question;
                }
                must(news.changed().await, "the witness is there");
            }
        };
        within(&format!("{root} or one below it asks"), asked).await
    }

    /// Waits until an agent sleeps and no wake-up is due.
    ///
    /// # Panics
    /// If that takes longer than a test may wait.
    pub async fn asleep(&self, agent: &Agent) {
        self.at_rest(agent.id, "sleeps", |status| status == Status::Waiting).await;
    }

    /// Ends this process abruptly and starts the next one on the same database.
    ///
    /// # Panics
    /// If a worker panicked.
    pub async fn restart(self, faults: Faults) -> Self {
        let Self { store, clock, builder, stop, mut workers, witness, faults: last, .. } = self;
        // Activations may end a moment later than their dispatcher: from here on none of them
        // claims an agent.
        last.kill();
        stop.cancel();
        workers.abort_all();
        while workers.join_next().await.is_some() {}
        // A dead process writes nothing more: what it handed to the store has arrived by now, and
        // calls without a waiting caller precede the next commit, because the witness keeps the
        // order.
        last.settled().await;
        must(store.commit(Commit::new(clock.now())).await, "the store answers");
        live(store, clock, builder, faults, witness)
    }
}

/// Unwraps a result without which a test cannot continue.
pub(crate) fn must<T, E: std::fmt::Debug>(result: Result<T, E>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("not so: {what}: {error:?}"))
}

pub(crate) fn live(
    store: Arc<dyn Store>,
    clock: FakeClock,
    builder: Parts,
    faults: Faults,
    witness: Witness,
) -> World {
    let stop = CancellationToken::new();
    let seen: Arc<dyn Store> = Arc::new(Faulty::new(Arc::clone(&store), faults.clone()));
    let over = |store: &Arc<dyn Store>| {
        builder
            .engine(store)
            .tools(builder.tools.clone())
            .clock(Arc::new(clock.clone()))
            .tracer(builder.tracer.clone())
            .stopping(stop.clone())
            .build()
    };
    let engine = over(&seen);
    let mut workers = JoinSet::new();
    for nth in 0..builder.workers {
        let settings = Settings { grace: Duration::ZERO, concurrency: builder.places, ..Settings::default() };
        let engine = if nth == 0 { engine.clone() } else { over(&seen) };
        let (store, stop) = (Arc::clone(&seen), stop.clone());
        let clock: Arc<dyn Clock> = Arc::new(clock.clone());
        workers.spawn(async move { Embedded::new(settings).run(Arc::new(engine), store, clock, stop).await });
    }
    if let Some(transport) = builder.transport.clone() {
        let engine = engine.clone();
        workers.spawn(async move {
            engine.deliver(transport).await;
            Ok(())
        });
    }
    if builder.thread_store.is_some() {
        let engine = engine.clone();
        workers.spawn(async move {
            engine.save_threads().await;
            Ok(())
        });
    }
    let (rival, planned) = (over(&store), faults.clone());
    workers.spawn(async move { rival.advance(planned.lost().await).await });
    World { engine, store, clock, builder, stop, workers, faults, witness }
}
