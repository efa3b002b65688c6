//! Opens an explorer: builds its engine and starts the work.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use entourage_engine::{Budgets, Clock, Engine, Kinds, SystemClock, dispatch};
use entourage_store::Store;
use entourage_tools::{Files, Settings as ToolSettings, Tool, Toolbox};
use entourage_types::{Kind, Owner};
use tokio::{sync::Mutex, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    Explorer, QueryAnswer, WithoutHandler,
    handler::{CurrentHandler, Handler, handler},
    questions::Questions,
};
use crate::{
    Error, Result, Settings,
    agency::ModelChoice,
    closable::Closable,
    compose::{Place, dispatch_settings, loaded_kinds, secret_keys, tool_settings, toolbox},
    connect::{connect, named_once, with_servers},
    embedded::{AtWork, Kept, chosen_model, work},
    settings::Cluster,
};

/// The kind of its agents.
const EXPLORER: &str = "explorer";

/// What a program changes of a kind.
type Change = Box<dyn FnOnce(&mut Kind) + Send>;

/// Builds an explorer.
#[must_use]
pub struct ExplorerBuilder {
    settings: Option<Settings>,
    directory: Option<PathBuf>,
    kept: Option<Kept>,
    cluster: Option<Cluster>,
    model: Option<ModelChoice>,
    change: Option<Change>,
    own_tools: Vec<Arc<dyn Tool>>,
    tools: Option<ToolSettings>,
    budgets: Option<Budgets>,
    clock: Arc<dyn Clock>,
    handler: Option<Handler>,
    otherwise: Option<WithoutHandler>,
    python_worker: Option<Vec<OsString>>,
}

impl ExplorerBuilder {
    pub(super) fn new() -> Self {
        Self {
            settings: None,
            directory: None,
            kept: None,
            cluster: None,
            model: None,
            change: None,
            own_tools: Vec::new(),
            tools: None,
            budgets: None,
            clock: Arc::new(SystemClock),
            handler: None,
            otherwise: None,
            python_worker: None,
        }
    }

    /// Works in this data directory, as the command line does with `--data`: with its settings, kinds, tools and, unless
    /// another place is set, its database. What only a server does (webhooks, traces, retention) is left out.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// The same with settings that are loaded already.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Keeps everything in memory, for as long as the explorer is open.
    pub fn in_memory(mut self) -> Self {
        self.kept = Some(Kept::InMemory);
        self
    }

    /// Keeps everything in this database file, created if it does not exist. Unfinished work in it continues.
    pub fn database(mut self, path: impl Into<PathBuf>) -> Self {
        self.kept = Some(Kept::Database(path.into()));
        self
    }

    /// Keeps everything in a store of your own.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.kept = Some(Kept::Own(store));
        self
    }

    /// Sets how this process is one of several, where the store is one that they share: they open the same explorer, and
    /// its agents work at any of them.
    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Sets the model: a name, `provider::name`, or one of yours in an [`Arc`]. By default, the settings and the
    /// environment choose it.
    pub fn model(mut self, model: impl Into<ModelChoice>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Changes the kind of its agents: instructions, the prompts of its decisions, limits, approvals.
    pub fn configure(mut self, change: impl FnOnce(&mut Kind) + Send + 'static) -> Self {
        self.change = Some(Box::new(change));
        self
    }

    /// Adds a tool of yours to those that the agents have.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.own_tools.push(Arc::new(tool));
        self
    }

    /// Sets the settings of the built-in tools, such as the directory whose files agents may read.
    pub fn tool_settings(mut self, settings: ToolSettings) -> Self {
        self.tools = Some(settings);
        self
    }

    /// Gives its agents the tool `python`: see [`AgencyBuilder::python`](crate::agency::AgencyBuilder::python).
    pub fn python(mut self, worker: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.python_worker = Some(worker.into_iter().map(Into::into).collect());
        self
    }

    /// Sets what may be spent in a day.
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = Some(budgets);
        self
    }

    /// Sets the clock; the system's by default. Tests pass their own.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the first handler of what agents ask, as [`Explorer::set_query_user_handler`] does. Set here, it is there
    /// before any agent works: no question from before a restart is declined for want of a handler.
    pub fn query_user_handler<F, A>(mut self, ask: F) -> Self
    where
        F: Fn(String, String) -> A + Send + Sync + 'static,
        A: Future<Output: QueryAnswer> + Send + 'static,
    {
        self.handler = Some(handler(ask));
        self
    }

    /// Sets what becomes of questions while no handler is set. By default they are declined at once where the database
    /// is this program's own, because nobody else can answer them (S3-R088). They stay open in a data directory, where
    /// `entourage answer` can answer them once the explorer is closed, and in a database that processes share, where any of
    /// them can: a question is put to the handlers of all, and the first answer counts.
    pub fn without_handler(mut self, otherwise: WithoutHandler) -> Self {
        self.otherwise = Some(otherwise);
        self
    }

    /// Opens it; agents work from here on. Unfinished work in its database continues.
    ///
    /// # Errors
    /// [`Error::Explorer`] when no place is set where everything is kept, and for mistakes in the kind or its tools;
    /// [`Error::Settings`], [`Error::Store`] and [`Error::Model`] when those cannot be used. No model is called in these
    /// cases.
    pub async fn open(self) -> Result<Explorer> {
        let settings = match (self.settings, &self.directory) {
            (Some(settings), _) => Some(settings),
            (None, Some(directory)) => Some(Settings::load(Some(directory), None)?),
            (None, None) => None,
        };
        let settings = settings.as_ref();
        let (kinds, name) = kinds(settings, &self.own_tools, self.change)?;
        let model =
            chosen_model(self.model, || settings.cloned().map_or_else(|| Settings::load(None, None), Ok))
                .await?;
        let tools = self.tools.or_else(|| settings.map(tool_settings)).unwrap_or_default();
        let (servers, problems) = named_once(tools.mcp.clone());
        for problem in problems {
            tracing::warn!("{problem}; continuing without its tools");
        }
        if let Some(files) = tools.files.clone() {
            Files::of(files).check().map_err(|error| Error::Files(error.to_string()))?;
        }
        let worker = self.python_worker.or_else(|| settings?.python_worker.clone());
        let tools = with_own(toolbox(tools, worker.as_deref()), self.own_tools)?;
        let budgets = self.budgets.or_else(|| settings.map(|settings| settings.budget.clone().into()));
        let dispatch = settings.map_or_else(dispatch::Settings::default, dispatch_settings);
        let kept = kept(self.kept, settings)?;
        let is_own = !kept.is_set();
        let cluster = self.cluster.unwrap_or_else(|| kept.cluster());
        let by_restate = kept.by_restate(&cluster)?;
        let closable = Arc::new(Closable::new(kept.open().await?));
        let store: Arc<dyn Store> = Arc::clone(&closable) as _;
        let give_up_after = dispatch.give_up_after;
        let place = Place::take(&*store, &cluster, dispatch, by_restate).await?;
        let is_shared = place.is_shared();
        let otherwise = self.otherwise.unwrap_or(match is_own && !is_shared {
            true => WithoutHandler::Decline,
            false => WithoutHandler::KeepOpen,
        });
        let stop = CancellationToken::new();
        let keys = settings.map(secret_keys).transpose()?.flatten();
        let engine = with_servers(Engine::builder(Arc::clone(&store), model), &servers)
            .secret_keys(keys)
            .kinds(kinds)
            .tools(tools)
            .clock(Arc::clone(&self.clock))
            .budgets(budgets.unwrap_or_default())
            .give_up_after(give_up_after)
            .signals(place.signals())
            .stopping(stop.clone())
            .build();
        engine.check_kind(&*engine.kinds().named(&name)?).map_err(Error::Explorer)?;
        for finding in engine.leave_out_unusable() {
            tracing::warn!("{finding}; continuing without this kind");
        }
        let client = engine.client(Owner::local());
        let current = Arc::new(CurrentHandler::new(self.handler));
        let questions = Questions {
            client: client.clone(),
            clock: Arc::clone(&self.clock),
            handler: Arc::clone(&current),
            otherwise,
            stop: stop.clone(),
            is_shared,
        };
        let home = AtWork { client, stop: stop.clone(), worker: Mutex::default(), store: closable };
        let connecting = connect(&engine, servers);
        *home.worker.lock().await = Some(tokio::spawn(async move {
            let _connecting: JoinSet<()> = connecting;
            tokio::join!(questions.follow(store), work(engine, place, None));
        }));
        Ok(Explorer { home: Arc::new(home), handler: current, kind: name })
    }
}

/// The kinds, and the name of the one that explores. Without settings there are no others.
fn kinds(
    settings: Option<&Settings>,
    own_tools: &[Arc<dyn Tool>],
    change: Option<Change>,
) -> Result<(Kinds, String)> {
    let kinds = match settings {
        Some(settings) => loaded_kinds(settings)?.0,
        None => Kinds::builtin(),
    };
    let mut kind = Kind::clone(&*kinds.named(EXPLORER)?);
    kind.tools.get_or_insert_default().extend(own_tools.iter().map(|tool| tool.name().to_owned()));
    if let Some(change) = change {
        change(&mut kind);
    }
    let name = kind.name.clone();
    let others = if settings.is_some() { kinds } else { Kinds::none() };
    Ok((others.with(kind), name))
}

/// These tools with those of the program.
fn with_own(mut tools: Toolbox, own: Vec<Arc<dyn Tool>>) -> Result<Toolbox> {
    for tool in own {
        tools.add(tool).map_err(|error| Error::Explorer(error.to_string()))?;
    }
    Ok(tools)
}

/// The place that was chosen, or that of the settings.
fn kept(chosen: Option<Kept>, settings: Option<&Settings>) -> Result<Kept> {
    let set = || settings.map(|settings| Kept::Set(Box::new(settings.clone())));
    match chosen.or_else(set).map_or_else(Kept::shared, |kept| Ok(Some(kept)))? {
        Some(kept) => Ok(kept),
        None => Err(Error::Explorer(
            "no place is set to keep everything: add `.in_memory()`, `.database(\"explorer.db\")` or \
             `.directory(\"…\")`, or set ENTOURAGE_STORE to the address of a PostgreSQL database"
                .into(),
        )),
    }
}

impl std::fmt::Debug for ExplorerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExplorerBuilder").field("without_handler", &self.otherwise).finish_non_exhaustive()
    }
}
