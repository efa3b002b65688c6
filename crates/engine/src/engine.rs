//! The engine: a store, a model, tools, kinds and a clock. What it holds beside these can be lost at any
//! time.

use std::sync::Arc;

use entourage_llm::Model;
use entourage_store::{Layered, Store};
use entourage_tools::Toolbox;
use entourage_types::{Agent, Owner, Time};
use tokio_util::sync::CancellationToken;

use crate::{
    Budgets, Client, Clock, Guardrail, Kinds, LocalSignals, Signals, SystemClock, ThreadStore, Tracer,
    activations::Activations,
    budget_wakeups::Scans,
    dispatch,
    feed::Feed,
    guardrail::Guardrails,
    memory::Memory,
    news::NewsDesk,
    outbox::Outbox,
    programs::{Program, Programs},
    restart::Restarts,
    run::TaintCache,
    schemas::Schemas,
    servers::Servers,
    thread_sync::SaveLayer,
    tool_lists::ToolLists,
    toolset::Toolsets,
    transcript_cache::TranscriptCache,
    versions::{Source, Versions},
};

/// An engine of agents. Cheap to clone; all clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) versions: Versions,
    pub(crate) toolsets: Toolsets,
    pub(crate) tool_lists: ToolLists,
    pub(crate) servers: Servers,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) feed: Feed,
    pub(crate) news: NewsDesk,
    pub(crate) signals: Arc<dyn Signals>,
    pub(crate) transcripts: TranscriptCache,
    pub(crate) taint: TaintCache,
    pub(crate) schemas: Schemas,
    pub(crate) activations: Activations,
    pub(crate) outbox: Outbox,
    pub(crate) places: dispatch::LastPlaces,
    pub(crate) save_layer: Option<SaveLayer>,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
    pub(crate) guardrails: Guardrails,
    pub(crate) programs: Arc<Programs>,
    /// Held during a job run, so that job runs do not overlap.
    pub(crate) job_lock: tokio::sync::Mutex<()>,
    /// The looks at the agents that wait for a budget.
    pub(crate) budget_scans: Scans,
    /// Consecutive restarts without progress after which the engine ends a run.
    pub(crate) give_up_after: u32,
    /// What owners may spend in a day.
    pub(crate) budgets: Budgets,
    /// The runs that an earlier process left in progress.
    pub(crate) restarts: Restarts,
    /// Cancelled when the process is to end: activations stop at their next step, and another process
    /// continues them.
    pub(crate) stopping: CancellationToken,
}

/// Builds an engine.
#[must_use]
pub struct Builder {
    store: Arc<dyn Store>,
    model: Arc<dyn Model>,
    kinds: Kinds,
    source: Option<Arc<Source>>,
    tools: Toolbox,
    servers: Vec<String>,
    clock: Arc<dyn Clock>,
    signals: Arc<dyn Signals>,
    tracer: Option<Arc<dyn Tracer>>,
    outbox: Outbox,
    save_layer: Option<SaveLayer>,
    guardrails: Guardrails,
    programs: Programs,
    give_up_after: u32,
    budgets: Budgets,
    stopping: CancellationToken,
}

impl Engine {
    /// Returns a builder with the built-in kinds and no tools.
    pub fn builder(store: Arc<dyn Store>, model: Arc<dyn Model>) -> Builder {
        Builder {
            store,
            model,
            kinds: Kinds::builtin(),
            source: None,
            tools: Toolbox::new(),
            servers: Vec::new(),
            clock: Arc::new(SystemClock),
            signals: Arc::new(LocalSignals),
            tracer: None,
            outbox: Outbox::default(),
            save_layer: None,
            guardrails: Guardrails::default(),
            programs: Programs::default(),
            give_up_after: dispatch::Settings::default().give_up_after,
            budgets: Budgets::default(),
            stopping: CancellationToken::new(),
        }
    }

    /// Returns the client of one owner: what that owner may see and do.
    #[must_use]
    pub fn client(&self, owner: Owner) -> Client {
        Client::new(self.clone(), owner)
    }

    /// The store, for dispatchers and for maintenance.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// The model, for its description and for the disclaimer that must accompany its answers.
    #[must_use]
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.inner.model
    }

    /// The token that is cancelled when activations are to stop at their next step.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.inner.stopping
    }

    /// What an agent remembers.
    pub(crate) fn memory(&self, agent: &Agent) -> Memory {
        Memory::of(&self.inner.store, agent)
    }

    pub(crate) fn now(&self) -> Time {
        self.inner.clock.now()
    }
}

impl Builder {
    /// The kinds.
    pub fn kinds(mut self, kinds: Kinds) -> Self {
        self.kinds = kinds;
        self
    }

    /// Sets the source that a reload reads the kinds from.
    pub fn kinds_from(mut self, source: Arc<Source>) -> Self {
        self.source = Some(source);
        self
    }

    /// The tools.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// Names the servers whose tools are added once they are connected; a name is the prefix of its tools'
    /// names. An agent that may use a server's tools waits until [`Engine::server_brings`] or
    /// [`Engine::server_is_away`] reports the outcome of the first attempt to connect.
    pub fn tool_servers(mut self, names: Vec<String>) -> Self {
        self.servers = names;
        self
    }

    /// The clock; the machine's unless a test sets another.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The connection to the other nodes that share the store; there are none unless set.
    pub fn signals(mut self, signals: Arc<dyn Signals>) -> Self {
        self.signals = signals;
        self
    }

    /// The tracer, which receives spans of agents' work; none unless set.
    pub fn tracer(mut self, tracer: Option<Arc<dyn Tracer>>) -> Self {
        self.tracer = tracer;
        self
    }

    /// The outbox, whose receivers are notified of tasks and questions; without receivers unless set.
    pub fn outbox(mut self, outbox: Outbox) -> Self {
        self.outbox = outbox;
        self
    }

    /// The application's thread store; none unless set. [`save_threads`](Engine::save_threads) saves the
    /// threads.
    pub fn thread_store(mut self, thread_store: Arc<dyn ThreadStore>) -> Self {
        self.save_layer = Some(SaveLayer(thread_store));
        self
    }

    /// Adds a guardrail under the name by which kinds refer to it; replaces one of the same name.
    pub fn guardrail(mut self, name: impl Into<String>, check: Arc<dyn Guardrail>) -> Self {
        self.guardrails.insert(name.into(), check);
        self
    }

    /// Adds a program under the name by which kinds refer to it; replaces one of the same name.
    pub fn program(mut self, name: &str, program: Arc<dyn Program>) -> Self {
        self.programs.add(name, program);
        self
    }

    /// The number of consecutive restarts, with nothing done in between, after which the engine ends a run: 5
    /// unless set.
    pub fn give_up_after(mut self, restarts: u32) -> Self {
        self.give_up_after = restarts;
        self
    }

    /// What owners may spend in a day; no limit unless set.
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// The token that stops activations at their next step.
    pub fn stopping(mut self, stopping: CancellationToken) -> Self {
        self.stopping = stopping;
        self
    }

    /// Builds the engine.
    #[must_use]
    pub fn build(self) -> Engine {
        let store: Arc<dyn Store> = match self.outbox.receivers() {
            [] => self.store,
            _ => Arc::new(Layered::new(self.store, self.outbox.clone())),
        };
        let store: Arc<dyn Store> = match &self.save_layer {
            Some(save_layer) => Arc::new(Layered::new(store, save_layer.clone())),
            None => store,
        };
        let programs = Arc::new(self.programs);
        Engine {
            inner: Arc::new(Inner {
                feed: Feed::new(Arc::clone(&store), Arc::clone(&self.signals), Arc::clone(&self.clock)),
                news: NewsDesk::new(Arc::clone(&store), Arc::clone(&self.clock)),
                signals: self.signals,
                toolsets: Toolsets::new(self.tools, Arc::clone(&programs)),
                programs,
                tool_lists: ToolLists::default(),
                servers: Servers::new(self.servers),
                transcripts: TranscriptCache::default(),
                taint: TaintCache::default(),
                schemas: Schemas::default(),
                activations: Activations::default(),
                tracer: self.tracer,
                guardrails: self.guardrails,
                job_lock: tokio::sync::Mutex::default(),
                budget_scans: Scans::default(),
                give_up_after: self.give_up_after,
                budgets: self.budgets,
                restarts: Restarts::default(),
                outbox: self.outbox,
                places: dispatch::LastPlaces::default(),
                save_layer: self.save_layer,
                store,
                model: self.model,
                versions: Versions::new(self.kinds, self.source),
                clock: self.clock,
                stopping: self.stopping,
            }),
        }
    }
}
