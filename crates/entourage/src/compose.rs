//! Builds an engine from its settings: the only module that knows every crate.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use entourage_engine::{
    Engine, Kinds, Outbox, Pruned, Retention, Tracer, Transport,
    dispatch::{self, Advance, Dispatcher, Embedded},
    kinds::Finding,
};
use entourage_llm::{Choice, MODEL_VARIABLE, Rehearsal, Tried, check_name, choose, choose_offline};
#[cfg(feature = "server")]
use entourage_server::Auth;
use entourage_store::{MemoryStore, Store};
use entourage_store_sqlite::{Durability, SqliteStore};
use entourage_tools::{Files, Owners, Problem, builtin};
use tokio::task::JoinSet;

#[cfg(not(feature = "server"))]
use crate::settings::Auth;
use crate::{
    Error, Result, Settings,
    connect::{connect, named_once},
    settings,
    telemetry::{self, Exporter},
};

/// The name of the database in the data directory.
pub const DATABASE: &str = "entourage.db";
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
    dispatch: dispatch::Settings,
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
        let (kinds, mut remarks) = loaded_kinds(settings)?;
        if let Some(files) = tool_settings(settings).files {
            Files::of(files).check().map_err(|error| Error::Files(error.to_string()))?;
        }
        let choice = choice(settings).await?;
        let traces = telemetry::exporter(&settings.telemetry, |name| std::env::var(name).ok())?;
        let (outbox, transport) = outbox(settings)?;
        let store = store(settings)?;
        let tools = tool_settings(settings);
        let (servers, problems) = named_once(tools.mcp.clone());
        let tracer = traces.clone().map(|traces| traces as Arc<dyn Tracer>);
        let builder =
            Engine::builder(Arc::new(store), Arc::clone(&choice.model)).tracer(tracer).outbox(outbox);
        let files = settings.clone();
        let builder = builder.tool_servers(servers.iter().map(|server| server.name.clone()).collect());
        let builder = builder.kinds(kinds).kinds_from(Arc::new(move || read(&files)));
        let dispatch = dispatch_settings(&settings.dispatch);
        let engine = builder.tools(builtin(tools)).give_up_after(dispatch.give_up_after).build();
        remarks.extend(engine.leave_out_unusable());
        let connecting = Arc::new(connect(&engine, servers));
        let retention = settings.retention.into();
        Ok(Self {
            engine,
            choice,
            remarks,
            problems,
            dispatch,
            retention,
            traces,
            transport,
            _connecting: connecting,
        })
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

    /// Delivers wake-ups to `advance` instead of to the engine itself, sends webhook deliveries, and runs the
    /// engine's maintenance, until the engine is stopping.
    ///
    /// # Errors
    /// When the database cannot be read at all.
    pub async fn deliver(self, advance: Arc<dyn Advance>) -> Result<()> {
        let (store, clock) = (Arc::clone(self.engine.store()), Arc::clone(self.engine.clock()));
        let stop = self.engine.stopping().clone();
        // The tasks end with this function, however it ends.
        let mut beside = JoinSet::new();
        let engine = self.engine.clone();
        beside.spawn(async move { engine.deliver(self.transport).await });
        beside.spawn(async move { self.engine.keep_up().await });
        let ended = Embedded::new(self.dispatch).run(advance, store, clock, stop).await;
        if let Some(traces) = self.traces {
            traces.flush(LAST_TRACES).await;
        }
        Ok(ended?)
    }
}

/// Migrates the database of these settings to this program's version.
///
/// # Errors
/// When it cannot be opened; it then has its old version, or one in between.
pub fn migrate(settings: &Settings) -> Result<()> {
    let mut settings = settings.clone();
    settings.store.migrate = true;
    store(&settings).map(drop)
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

/// Chooses the model by these settings.
///
/// # Errors
/// [`Error::Model`] when an explicit setting cannot work; [`Error::Settings`] when a variable or an option
/// names no model.
pub async fn choice(settings: &Settings) -> Result<Choice> {
    check_named(settings)?;
    Ok(named(settings, choose(settings.models.clone(), variable).await?))
}

/// Like [`choice`], but asks no server: chooses the rehearsal, with a remark, where only a server could tell.
///
/// # Errors
/// As [`choice`].
pub fn choice_offline(settings: &Settings) -> Result<Choice> {
    check_named(settings)?;
    Ok(named(settings, choose_offline(settings.models.clone(), variable)?))
}

fn check_named(settings: &Settings) -> Result<()> {
    let Some((from, model)) = settings.names_model().zip(settings.models.default.as_deref()) else {
        return Ok(());
    };
    let wrong =
        |error: entourage_llm::Error| Error::Settings { place: from.to_owned(), why: error.to_string() };
    check_name(model).map_err(wrong).map(drop)
}

/// The environment without the variable that names the model: the settings have it already, below the command
/// line.
fn variable(name: &str) -> Option<String> {
    if name == MODEL_VARIABLE { None } else { std::env::var(name).ok() }
}

/// Returns the choice with the place that names the model as its reason, if there is one.
fn named(settings: &Settings, mut choice: Choice) -> Choice {
    if let Some(from) = settings.names_model() {
        choice.why = format!("{from} says so");
        choice.tried = vec![Tried { what: from.to_owned(), found: Ok(choice.default_model.clone()) }];
    }
    choice
}

/// An engine to read and write rows: no agent runs in it, and it has no model and no tools.
///
/// # Errors
/// When the database or the kinds cannot be read.
pub fn look(settings: &Settings) -> Result<Engine> {
    looked_at(settings, Arc::new(store(settings)?))
}

/// Like [`look`], but creates no database: if there is none yet, the engine is empty and keeps nothing.
///
/// # Errors
/// As for [`look`].
pub fn look_only(settings: &Settings) -> Result<Engine> {
    if is_begun(settings) { look(settings) } else { looked_at(settings, Arc::new(MemoryStore::default())) }
}

/// An engine to read, also where nothing can be written, such as on a read-only disk. It may lose what is
/// written to it.
///
/// # Errors
/// When the database or the kinds cannot be read.
pub fn read_only(settings: &Settings) -> Result<Engine> {
    if !is_begun(settings) {
        return looked_at(settings, Arc::new(MemoryStore::default()));
    }
    let store = SqliteStore::open_to_read(settings.data.join(DATABASE), store_settings(&settings.store))?;
    looked_at(settings, Arc::new(store))
}

fn looked_at(settings: &Settings, store: Arc<dyn Store>) -> Result<Engine> {
    let (kinds, _) = loaded_kinds(settings)?;
    let (outbox, _) = outbox(settings)?;
    Ok(Engine::builder(store, Arc::new(Rehearsal)).kinds(kinds).outbox(outbox).build())
}

/// Whether the data directory has a database, or a remainder of one.
#[must_use]
pub fn is_begun(settings: &Settings) -> bool {
    let there = |name: &str| settings.data.join(name).try_exists().unwrap_or(true);
    there(DATABASE) || there(&format!("{DATABASE}-wal"))
}

/// Removes the kinds whose cost limit cannot be enforced with the models of these settings, and returns why.
///
/// # Errors
/// [`Error::Model`] when a kind has such a limit, and no model can be chosen.
pub async fn unpriced(settings: &Settings, kinds: &mut Kinds) -> Result<Vec<Finding>> {
    if kinds.iter().all(|kind| kind.limits.max_cost.is_none()) {
        return Ok(Vec::new());
    }
    let engine = Engine::builder(Arc::new(MemoryStore::default()), choice(settings).await?.model).build();
    Ok(kinds.leave_out_where(|kind| engine.check_kind(kind).err()))
}

/// Removes the kinds that name guardrails, or models of providers that do not exist, and returns why: a
/// program that is built from settings alone has neither.
#[must_use]
pub fn unchecked(kinds: &mut Kinds) -> Vec<Finding> {
    let engine = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(Rehearsal)).build();
    kinds.leave_out_where(|kind| {
        let wrong = || kind.model.iter().chain(&kind.fallback).find_map(|model| check_name(model).err());
        engine.check_guardrails(kind).err().or_else(|| Some(format!("kind `{}`: {}", kind.name, wrong()?)))
    })
}

/// The built-in kinds and the user's kinds that load, and all findings.
///
/// # Errors
/// When the configured directory cannot be read.
pub fn loaded_kinds(settings: &Settings) -> Result<(Kinds, Vec<Finding>)> {
    Ok(read(settings)?)
}

/// Like [`loaded_kinds`], for the engine, which reads the kinds again while it works.
fn read(settings: &Settings) -> entourage_engine::Result<(Kinds, Vec<Finding>)> {
    let mut kinds = Kinds::builtin();
    let mut findings = Vec::new();
    let usual = settings.kinds_directory();
    let beside = settings.agency.as_deref().map(directory_of).filter(|beside| usual.as_ref() != Some(beside));
    for directory in usual.into_iter().chain(beside) {
        findings.extend(kinds.load(&directory)?);
    }
    Ok((kinds, findings))
}

/// The directory of a file.
fn directory_of(file: &Path) -> PathBuf {
    file.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new(".")).to_owned()
}

/// The settings of the tools, and which files belong to the program itself.
#[must_use]
pub fn tool_settings(settings: &Settings) -> entourage_tools::Settings {
    let mut tools = settings.tools.clone();
    if let Some(files) = &mut tools.files {
        files.never = vec![settings.data.clone()];
        files.never.extend(settings.file.clone());
    }
    for server in &mut tools.mcp {
        server.supervisor.clone_from(&settings.supervisor);
    }
    match &settings.server.auth {
        Auth::None => tools,
        Auth::Jwt(jwt) => tools.shared(&Owners::operator(jwt.operator.as_deref())),
    }
}

/// Checks whether the receivers and senders of webhooks can be used as configured.
///
/// # Errors
/// What is wrong with the first that cannot be used.
#[cfg(feature = "server")]
pub fn check_webhooks(settings: &Settings) -> Result<()> {
    outbox(settings)?;
    Ok(entourage_server::check_senders(&settings.server.webhooks)?)
}

fn store(settings: &Settings) -> Result<SqliteStore> {
    make_directory(&settings.data)?;
    Ok(SqliteStore::open(settings.data.join(DATABASE), store_settings(&settings.store))?)
}

fn store_settings(set: &settings::Store) -> entourage_store_sqlite::Settings {
    let durability = match set.durability {
        settings::Durability::Full => Durability::Full,
        settings::Durability::Normal => Durability::Normal,
    };
    entourage_store_sqlite::Settings { durability, migrate: set.migrate, ..Default::default() }
}

/// Creates the data directory, private to its owner: what agents write is private.
fn make_directory(path: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|cause| Error::DataDirectory { path: path.to_owned(), cause })
}

/// The receivers of webhooks: a build without the feature `server` has none.
#[cfg(not(feature = "server"))]
fn outbox(settings: &Settings) -> Result<(Outbox, Arc<dyn Transport>)> {
    if let Some(name) = settings.webhooks.keys().next() {
        return Err(Error::Settings {
            place: format!("webhooks.{name}"),
            why: "this program was built without webhooks. Build it with the feature `server` of entourage, or \
                  take the webhooks out of its settings"
                .into(),
        });
    }
    Ok((Outbox::default(), Arc::new(NoReceivers)))
}

/// Delivers nothing, since there are no receivers.
#[cfg(not(feature = "server"))]
struct NoReceivers;

#[cfg(not(feature = "server"))]
#[async_trait::async_trait]
impl Transport for NoReceivers {
    async fn deliver(
        &self,
        _: &entourage_types::Delivery,
    ) -> std::result::Result<(), entourage_engine::Undelivered> {
        Err(entourage_engine::Undelivered::because("this program was built without webhooks"))
    }
}

/// The receivers of webhooks, and the transport that delivers to them. Sets up TLS if there are any.
#[cfg(feature = "server")]
fn outbox(settings: &Settings) -> Result<(Outbox, Arc<dyn Transport>)> {
    if !settings.webhooks.is_empty() {
        entourage_llm::install_tls();
    }
    let (outbox, transport) =
        entourage_server::outbox(&settings.webhooks, Arc::new(entourage_engine::SystemClock))?;
    Ok((outbox, Arc::new(transport)))
}

fn dispatch_settings(set: &settings::Dispatch) -> dispatch::Settings {
    dispatch::Settings {
        concurrency: set.concurrency.max(1),
        grace: Duration::from_secs(set.grace_seconds),
        give_up_after: set.give_up_after.max(1),
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::Owner;

    use super::*;

    /// The file tools of these settings that an owner's agents may use, in the order of their names.
    fn file_tools_for(text: &str, owner: &str) -> Vec<String> {
        let settings: Settings = toml::from_str(text).expect("valid");
        let tools = builtin(tool_settings(&settings));
        let served = tools.iter().filter(|tool| tool.serves(&Owner::new(owner)));
        let names = served.map(|tool| tool.name().to_owned());
        names.filter(|name| name.ends_with("_file") || name.ends_with("_files")).collect()
    }

    /// The store's own tests show what each of these settings does.
    #[test]
    fn the_store_opens_with_the_durability_and_migration_settings() {
        let opened = |text: &str| {
            let settings: Settings = toml::from_str(text).expect("valid");
            let chosen = store_settings(&settings.store);
            (chosen.durability, chosen.migrate)
        };
        assert_eq!(opened(""), (Durability::Full, true));
        assert_eq!(opened("store.durability = \"full\""), (Durability::Full, true));
        assert_eq!(opened("store.durability = \"normal\""), (Durability::Normal, true));
        assert_eq!(opened("store.migrate = false"), (Durability::Full, false));
    }

    #[test]
    fn with_tokens_only_the_operator_gets_file_tools_unless_owners_are_named() {
        let jwt = "[server.auth.jwt]\nalgorithm = \"HS256\"\nkey = \"0123456789abcdef0123456789abcdef\"\n";
        let both = ["list_files", "read_file"];
        assert_eq!(file_tools_for("tools.files = \"/srv\"", "ann"), both, "owners do not authenticate");
        let alone = format!("tools.files = \"/srv\"\n{jwt}");
        assert_eq!(
            (file_tools_for(&alone, "ann"), file_tools_for(&alone, "local")),
            (vec![], both.map(String::from).to_vec())
        );
        let named = format!("{alone}operator = \"ann\"\n");
        assert_eq!(
            (file_tools_for(&named, "ann"), file_tools_for(&named, "bob")),
            (both.map(String::from).to_vec(), vec![])
        );
        let shared = format!("tools.files = {{ path = \"/srv\", owners = [\"ann\"] }}\n{jwt}");
        assert_eq!(
            (file_tools_for(&shared, "ann"), file_tools_for(&shared, "bob")),
            (both.map(String::from).to_vec(), vec![])
        );
        let all = format!("tools.files = {{ path = \"/srv\", owners = [\"*\"] }}\n{jwt}");
        assert_eq!(file_tools_for(&all, "bob"), both);
    }

    #[test]
    fn with_tokens_only_the_operator_gets_mcp_tools_unless_owners_are_named() {
        let servers = "[[tools.mcp]]\nname = \"a\"\ncommand = \"a\"\n[[tools.mcp]]\nname = \"b\"\ncommand = \"b\"\nowners = [\"ann\"]\n";
        let settings: Settings = toml::from_str(servers).expect("valid");
        let owners = |settings: entourage_tools::Settings| -> Vec<bool> {
            let ann = Owner::new("ann");
            settings.mcp.iter().map(|server| server.owners.as_ref().is_none_or(|o| o.include(&ann))).collect()
        };
        assert_eq!(owners(tool_settings(&settings)), [true, true]);
        assert_eq!(owners(settings.tools.shared(&Owners::operator(None))), [false, true]);
    }

    #[test]
    fn file_tools_exclude_the_data_directory_and_the_settings_file() {
        let mut settings: Settings = toml::from_str("tools.files = \"/srv\"").expect("valid");
        (settings.data, settings.file) = ("/var/entourage".into(), Some("/etc/entourage.toml".into()));
        let files = tool_settings(&settings).files.expect("set");
        assert_eq!(files.never, [Path::new("/var/entourage"), Path::new("/etc/entourage.toml")]);
    }
}
