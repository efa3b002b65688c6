//! The builder of an engine: what it is composed of, and the defaults.

use std::sync::Arc;

use entourage_llm::Model;
use entourage_store::{Layered, Store};
use entourage_tools::Toolbox;
use tokio_util::sync::CancellationToken;

use super::{Engine, Inner};
use crate::{
    Budgets, Clock, Guardrail, HealthPolicy, Kinds, LocalSignals, Signals, SystemClock, ThreadStore, Tracer,
    activations::Activations,
    budget::Roots,
    budget_wakeups::Scans,
    dispatch,
    feed::Feed,
    guardrail::Guardrails,
    health::Health,
    news::NewsDesk,
    outbox::Outbox,
    programs::{Program, Programs},
    restart::Restarts,
    schemas::Schemas,
    secrets::SecretKeys,
    servers::{ConnectForOwner, Servers, ToolServer},
    taint_cache::TaintCache,
    thread_sync::SaveLayer,
    tool_lists::ToolLists,
    toolset::Toolsets,
    transcript_cache::TranscriptCache,
    versions::{Source, Versions},
};

/// Builds an engine.
#[must_use]
pub struct Builder {
    store: Arc<dyn Store>,
    model: Arc<dyn Model>,
    kinds: Kinds,
    source: Option<Arc<Source>>,
    tools: Toolbox,
    servers: Vec<ToolServer>,
    connect_for_owner: Option<Arc<dyn ConnectForOwner>>,
    secret_keys: Option<Arc<SecretKeys>>,
    clock: Arc<dyn Clock>,
    signals: Arc<dyn Signals>,
    tracer: Option<Arc<dyn Tracer>>,
    outbox: Outbox,
    save_layer: Option<SaveLayer>,
    guardrails: Guardrails,
    programs: Programs,
    give_up_after: u32,
    budgets: Budgets,
    health: HealthPolicy,
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
            connect_for_owner: None,
            secret_keys: None,
            clock: Arc::new(SystemClock),
            signals: Arc::new(LocalSignals),
            tracer: None,
            outbox: Outbox::default(),
            save_layer: None,
            guardrails: Guardrails::default(),
            programs: Programs::default(),
            give_up_after: dispatch::Settings::default().give_up_after,
            budgets: Budgets::default(),
            health: HealthPolicy::default(),
            stopping: CancellationToken::new(),
        }
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

    /// The catalogue of servers whose tools are added once they are connected. An agent that may use the tools of a
    /// shared one waits until [`Engine::server_brings`] or [`Engine::server_is_away`] reports the outcome of the first
    /// attempt to connect.
    pub fn tool_servers(mut self, servers: Vec<ToolServer>) -> Self {
        self.servers = servers;
        self
    }

    /// What connects the servers that need secrets of their owner.
    pub fn connect_for_owner(mut self, connect: Arc<dyn ConnectForOwner>) -> Self {
        self.connect_for_owner = Some(connect);
        self
    }

    /// The keys that seal secrets of owners; without them, none can be set.
    pub fn secret_keys(mut self, keys: Option<SecretKeys>) -> Self {
        self.secret_keys = keys.map(Arc::new);
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

    /// After which times something is done about tasks and goals that make no progress.
    pub fn health(mut self, health: HealthPolicy) -> Self {
        self.health = health;
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
        self.outbox.tell_by(&self.signals);
        let store: Arc<dyn Store> = match self.outbox.receivers() {
            [] => self.store,
            _ => Arc::new(Layered::new(self.store, self.outbox.clone())),
        };
        let store: Arc<dyn Store> = match &self.save_layer {
            Some(save_layer) => Arc::new(Layered::new(store, save_layer.clone())),
            None => store,
        };
        Engine {
            inner: Arc::new(Inner {
                feed: Feed::new(Arc::clone(&store), Arc::clone(&self.signals), Arc::clone(&self.clock)),
                news: NewsDesk::new(Arc::clone(&store), Arc::clone(&self.clock)),
                signals: self.signals,
                toolsets: Toolsets::new(self.tools, self.programs.tools()),
                programs: self.programs,
                tool_lists: ToolLists::default(),
                servers: Servers::new(self.servers, self.connect_for_owner),
                secret_keys: self.secret_keys,
                transcripts: TranscriptCache::default(),
                taint: TaintCache::default(),
                schemas: Schemas::default(),
                activations: Activations::default(),
                tracer: self.tracer,
                guardrails: self.guardrails,
                job_lock: tokio::sync::Mutex::default(),
                health: Health::new(self.health),
                budget_scans: Scans::default(),
                budgets: self.budgets,
                roots: Roots::default(),
                restarts: Restarts::new(self.give_up_after),
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
