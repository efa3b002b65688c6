//! Builds an engine from its settings: the only module that knows every crate.

mod cluster;
mod database;
mod kinds;
mod model;
#[cfg(feature = "postgres")]
mod moving;
mod neighbours;
mod part;
mod python;
#[cfg(feature = "restate")]
mod restate;
mod secrets;
mod tools;
#[cfg(not(feature = "restate"))]
mod unbuilt_restate;
mod webhooks;
mod work;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use entourage_engine::{
    Engine, Pruned, Retention, Tracer, Transport,
    dispatch::{self, Advance},
    kinds::Finding,
    programs::Act,
};
use entourage_llm::Choice;
#[cfg(feature = "server")]
use entourage_server::Auth;
use entourage_tools::{Files, Problem};
use entourage_types::ProgramName;
use tokio::task::JoinSet;

#[cfg(not(feature = "server"))]
use crate::settings::Auth;
use crate::{
    Error, Result, Settings,
    connect::{connect, named_once, with_servers},
    subscriber::{Subscriber, subscribed},
    telemetry::{self, Exporter},
};

use cluster::Cluster;

pub use database::{database, is_begun, look, look_only, migrate, read_only};
pub use kinds::{loaded_kinds, unchecked, unpriced};
pub use model::{choice, choice_offline};
#[cfg(feature = "postgres")]
pub use moving::move_to_postgres;
pub use neighbours::{Neighbour, Neighbours, neighbours};
pub use python::toolbox;
#[cfg(feature = "restate")]
pub use restate::{chosen_restate, chosen_restate_of_database};
pub use secrets::secret_keys;
pub use tools::tool_settings;
#[cfg(feature = "server")]
pub use webhooks::check_webhooks;

use webhooks::outbox;

pub(crate) use database::open as open_database;
#[cfg(feature = "restate")]
pub(crate) use restate::{ByRestate, by_restate};
#[cfg(not(feature = "restate"))]
pub(crate) use unbuilt_restate::{ByRestate, by_restate};
pub(crate) use work::Place;

/// How often old data is pruned.
const FORGETTING: Duration = Duration::from_secs(60 * 60);

/// An engine, with the decisions that were made while it was built.
#[derive(Clone)]
pub struct Entourage {
    /// The engine.
    pub engine: Engine,
    /// Which model it uses, and why.
    pub choice: Choice,
    /// Remarks on the files of kinds, and the mistakes for which files are left out.
    pub remarks: Vec<Finding>,
    /// MCP servers whose settings cannot be used. Servers that cannot be connected are retried instead.
    pub problems: Vec<Problem>,
    place: Place,
    retention: Retention,
    traces: Option<Arc<Exporter>>,
    transport: Arc<dyn Transport>,
    /// Connects MCP servers until it is dropped.
    _connecting: Arc<JoinSet<()>>,
}

/// How long the end of the process waits for traces to be sent.
const LAST_TRACES: Duration = Duration::from_secs(1);

impl Entourage {
    /// Builds the engine: database, kinds, tools, model. It connects MCP servers in the background; only
    /// agents that may use one wait for that. No agent works until [`Entourage::work`].
    ///
    /// # Errors
    /// The first problem; nothing was changed then.
    pub async fn open(settings: &Settings) -> Result<Self> {
        Self::open_with(settings, Vec::new()).await
    }

    /// The same, with functions of the program that are told of events.
    ///
    /// # Errors
    /// The same, and [`Error::Subscriber`] for a subscriber that cannot be one.
    pub async fn open_with(settings: &Settings, subscribers: Vec<Subscriber>) -> Result<Self> {
        let (loaded, mut remarks) = loaded_kinds(settings)?;
        if let Some(files) = tool_settings(settings).files {
            Files::of(files).check().map_err(|error| Error::Files(error.to_string()))?;
        }
        let choice = choice(settings).await?;
        let traces = telemetry::exporter(&settings.telemetry, |name| std::env::var(name).ok())?;
        let (outbox, transport) = outbox(settings)?;
        let (outbox, transport) = subscribed(subscribers, outbox, transport)?;
        let by_restate = by_restate(settings, &settings.cluster)?;
        let store = database::open(settings).await?;
        let dispatch = dispatch_settings(settings);
        let give_up_after = dispatch.give_up_after;
        let place = Place::take(&*store, &settings.cluster, dispatch, by_restate).await?;
        let tools = tool_settings(settings);
        let (servers, problems) = named_once(tools.mcp.clone());
        let tracer = traces.clone().map(|traces| traces as Arc<dyn Tracer>);
        let builder = Engine::builder(store, Arc::clone(&choice.model)).tracer(tracer).outbox(outbox);
        let files = settings.clone();
        let builder = with_servers(builder, &servers).secret_keys(secret_keys(settings)?);
        let builder = builder.kinds(loaded).kinds_from(Arc::new(move || kinds::read(&files)));
        let toolbox = toolbox(tools, settings.python_worker.as_deref());
        let builder = builder.tools(toolbox).give_up_after(give_up_after);
        let act = Arc::new(Act::new(settings.documents.acts_at_once));
        let builder = builder.program(ProgramName::ACT, act);
        let builder = builder.health(settings.health.into());
        let builder = builder.signals(place.signals());
        let engine = builder.budgets(settings.budget.clone().into()).build();
        remarks.extend(engine.leave_out_unusable());
        let connecting = Arc::new(connect(&engine, servers));
        let retention = settings.retention.into();
        Ok(Self {
            engine,
            choice,
            remarks,
            problems,
            place,
            retention,
            traces,
            transport,
            _connecting: connecting,
        })
    }

    /// Where this process listens for others that share its database; none if none can.
    #[must_use]
    pub fn listens_at(&self) -> Option<SocketAddr> {
        self.place.cluster.as_ref().and_then(Cluster::listens_at)
    }

    /// Runs all agents until the engine is [stopping](Engine::stopping), and prunes data that is older than
    /// the settings keep.
    ///
    /// # Errors
    /// When the database cannot be read at all.
    pub async fn work(self) -> Result<()> {
        let engine = self.engine.clone();
        let forgetting = forget(engine.clone(), self.retention);
        let (worked, ()) = tokio::join!(self.deliver(Arc::new(engine)), forgetting);
        worked
    }

    /// Delivers wake-ups to `advance` instead of to the engine itself, makes the deliveries of the outbox, and runs the
    /// engine's maintenance, until the engine is stopping.
    ///
    /// # Errors
    /// When the database cannot be read at all.
    pub async fn deliver(self, advance: Arc<dyn Advance>) -> Result<()> {
        let ended = self.place.work(self.engine, advance, Some(self.transport)).await;
        if let Some(traces) = self.traces {
            traces.flush(LAST_TRACES).await;
        }
        Ok(ended?)
    }
}

/// Prunes data that is older than its retention from time to time, until the engine is stopping.
async fn forget(engine: Engine, retention: Retention) {
    if retention == Retention::default() {
        return;
    }
    while !engine.stopping().is_cancelled() {
        match engine.prune(&retention).await {
            Ok(pruned) if pruned == Pruned::default() => {}
            Ok(Pruned { events, trees, requests, deliveries }) => {
                tracing::info!(events, trees, requests, deliveries, "pruned old data");
            }
            Err(error) => tracing::warn!(%error, "old data could not be pruned; it is tried again later"),
        }
        let next = engine.clock().now() + FORGETTING;
        tokio::select! {
            () = engine.clock().sleep_until(next) => {}
            () = engine.stopping().cancelled() => {}
        }
    }
}

pub(crate) fn dispatch_settings(settings: &Settings) -> dispatch::Settings {
    let set = &settings.dispatch;
    let concurrency = set.concurrency.max(1);
    let usual = match settings.server.auth {
        Auth::None => None,
        Auth::Jwt(_) => Some(concurrency - (concurrency / 4).max(1)),
    };
    dispatch::Settings {
        concurrency,
        per_owner: set.per_owner.or(usual).map(|most| most.max(1)),
        grace: Duration::from_secs(set.grace_seconds),
        give_up_after: set.give_up_after.max(1),
    }
}
