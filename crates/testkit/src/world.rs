//! An engine for one test, with a database of its own, and as many consecutive processes as the
//! test needs.

use std::{sync::Arc, time::Duration};

use entourage_engine::{
    Builder, Client, Clock, Engine, Kinds, NewAgent, RebuiltRequest,
    dispatch::{Dispatcher, Embedded, Settings},
};
use entourage_llm::Model;
use entourage_store::{AgentQuery, Commit, Layered, Page, Store};
use entourage_tools::Toolbox;
use entourage_types::{Agent, AgentId, ItemBody, Owner, Question, QuestionStatus, Scope, Status};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    FakeClock, Faults, Violation, Witness, WorldBuilder, audit,
    prefix::Prefix,
    received::{Received, Remembers},
};

/// How long a test waits for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the result of something that must happen; a test that waits for it fails instead of
/// hanging.
///
/// # Panics
/// If it takes longer than a test may wait.
pub(crate) async fn within<T>(what: &str, happens: impl Future<Output = T>) -> T {
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
    pub(crate) received: Received,
    pub(crate) tools: Toolbox,
    pub(crate) kinds: Kinds,
    pub(crate) dispatchers: Vec<Settings>,
    pub(crate) with: Box<dyn Fn(Builder) -> Builder + Send + Sync>,
    /// Whether the witness records what happens.
    pub(crate) is_witnessed: bool,
    /// The directory of the database file, which is deleted when this is dropped.
    pub(crate) _directory: Option<tempfile::TempDir>,
}

impl Parts {
    /// An engine with this world's model and kinds. Each dispatcher has its own, and each of them
    /// counts an end of the process that they share.
    fn engine(&self, store: &Arc<dyn Store>) -> Builder {
        let model = Remembers { model: Arc::clone(&self.model), received: self.received.clone() };
        let engine = Engine::builder(Arc::clone(store), Arc::new(model))
            .kinds(self.kinds.clone())
            .give_up_after(Settings::default().give_up_after * self.dispatchers.len().max(1) as u32);
        (self.with)(engine)
    }
}

impl World {
    /// Configures a world with this model.
    pub fn builder(model: impl Model) -> WorldBuilder {
        WorldBuilder::new(Arc::new(model))
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

    /// The violated invariants, and the requests that are not rebuilt as a model received them. What is found while
    /// others commit may have been read in part before and in part after a commit: then it is looked for again.
    ///
    /// # Panics
    /// If the store cannot be read.
    pub async fn audit(&self) -> Vec<Violation> {
        loop {
            let facts = self.witness.facts().len();
            let found = self.violations().await;
            if found.is_empty() || self.witness.facts().len() == facts {
                return found;
            }
        }
    }

    /// The violations as they are read now.
    async fn violations(&self) -> Vec<Violation> {
        let witness = self.builder.is_witnessed.then_some(&self.witness);
        let mut found = must(audit(&*self.store, witness).await, "the store answers");
        let observer = self.builder.engine(&self.store).tools(self.builder.tools.clone());
        let observer = observer.clock(Arc::new(self.clock.clone())).build();
        let doubt = |request: &RebuiltRequest| {
            let is_heard = self.builder.received.has(&request.request);
            let unheard = || (!is_heard).then(|| "no model has received it".to_owned());
            request.doubt.clone().or_else(unheard)
        };
        found.extend(doubtful_requests(&observer, doubt).await);
        found
    }

    /// A client of the local owner, which reads below all faults.
    #[must_use]
    pub fn client(&self) -> Client {
        let observer = self.builder.engine(&self.store).clock(Arc::new(self.clock.clone())).build();
        observer.client(Owner::local())
    }

    /// The faults of the current process. Before there is work it makes no commit, so that a fault
    /// may be planned after the start as well.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Creates an agent with its first message: of the kind `assistant`, or of the first kind if
    /// there is no such kind.
    ///
    /// # Panics
    /// If the engine refuses it.
    pub async fn ask(&self, text: &str) -> Agent {
        let kinds = self.engine.kinds();
        let first = kinds.iter().next().filter(|_| kinds.get("assistant").is_none());
        let kind = first.map(|kind| kind.name.to_string());
        let new = NewAgent { kind, message: Some(text.to_owned()), ..NewAgent::default() };
        must(self.client().create(new, None).await, "the engine takes a message")
    }

    /// Waits until the root's run has ended and no further work is due, and returns the root.
    ///
    /// # Panics
    /// If that takes longer than a test may wait.
    pub async fn ended(&self, root: AgentId) -> Agent {
        let (client, mut news) = (self.client(), self.witness.news());
        let ended = async {
            loop {
                news.mark_unchanged();
                let agent = must(client.agent(root).await, "the agent exists");
                let due = must(self.store.due(self.clock.now(), None, u32::MAX).await, "the store answers");
                let is_woken =
                    agent.status != Status::Cancelled && due.iter().any(|wakeup| wakeup.agent == root);
                if agent.status.is_terminal() && !is_woken {
                    return agent;
                }
                must(news.changed().await, "the witness is there");
            }
        };
        within(&format!("{root} has ended"), ended).await
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

/// The requests that cannot be rebuilt as the model received them, according to the digests in the turns, decisions and
/// summaries that answered them.
///
/// # Panics
/// If the store cannot be read.
pub async fn inexact_requests(engine: &Engine) -> Vec<Violation> {
    doubtful_requests(engine, |request| request.doubt.clone()).await
}

/// The requests, rebuilt, of which this says why they are doubtful.
async fn doubtful_requests(
    engine: &Engine,
    why: impl Fn(&RebuiltRequest) -> Option<String>,
) -> Vec<Violation> {
    let page = || Page { limit: u32::MAX, ..Page::default() };
    let query = AgentQuery { page: page(), ..AgentQuery::default() };
    let mut found = Vec::new();
    for agent in must(engine.store().agents(&Scope::All, query).await, "the store answers") {
        let client = engine.client(agent.owner.clone());
        let mut prefix = Prefix::default();
        for item in must(client.items(agent.id, 0, u32::MAX).await, "the agent exists") {
            prefix.pass(&item);
            let is_asked = match &item.body {
                ItemBody::Turn(turn) => turn.asked.is_some(),
                ItemBody::Decision(decision) => decision.asked.is_some(),
                ItemBody::Digest(digest) => digest.asked.is_some(),
                _ => false,
            };
            if !is_asked {
                continue;
            }
            let doubt = match client.request_of_item(agent.id, item.seq).await {
                Ok(request) => why(&request).or(prefix.untrue(engine, &request).await),
                Err(error) => Some(error.to_string()),
            };
            if let Some(doubt) = doubt {
                let what = format!("the request of item {} is not what was sent: {doubt}", item.seq);
                found.push(Violation { invariant: 0, agent: Some(agent.id), what });
            }
        }
    }
    found
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
    let seen: Arc<dyn Store> = Arc::new(Layered::new(Arc::clone(&store), faults.clone()));
    let over = |store: &Arc<dyn Store>| {
        builder
            .engine(store)
            .tools(builder.tools.clone())
            .clock(Arc::new(clock.clone()))
            .stopping(stop.clone())
            .build()
    };
    let engine = over(&seen);
    let mut workers = JoinSet::new();
    for (nth, settings) in builder.dispatchers.iter().enumerate() {
        let settings = Settings { grace: Duration::ZERO, ..settings.clone() };
        let engine = if nth == 0 { engine.clone() } else { over(&seen) };
        let (store, stop) = (Arc::clone(&seen), stop.clone());
        let clock: Arc<dyn Clock> = Arc::new(clock.clone());
        workers.spawn(async move { Embedded::new(settings).run(Arc::new(engine), store, clock, stop).await });
    }
    // It ends at once in a world without a thread store.
    let saving = engine.clone();
    workers.spawn(async move {
        saving.save_threads().await;
        Ok(())
    });
    let (rival, planned) = (over(&store), faults.clone());
    workers.spawn(async move { rival.advance(planned.taken_over().await).await });
    World { engine, store, clock, builder, stop, workers, faults, witness }
}
