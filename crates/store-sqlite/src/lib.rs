//! The embedded store: SQLite in WAL mode with group commit.
//!
//! One connection writes. It puts all waiting commits, up to a bound, into one transaction, so that one sync
//! of the disk makes them all durable. Reads never wait for the writer: short reads run on the caller's
//! thread, long ones on a few threads that serve the owners in turn. Only one process at a time may have the
//! database open. A person may look at it with `sqlite3` at any time; the views `agent_list`, `run_list`,
//! `transcript`, `task_list`, `question_list`, `note_list`, `event_list` and `usage_list` are for that.

mod agents;
mod apply;
mod budgets;
mod claim;
mod copy;
mod database;
mod database_copy;
mod entities;
mod events;
mod facts;
mod fault;
mod group;
mod health;
mod inbox;
mod items;
mod job;
mod key_range;
mod lock;
mod migrate;
mod moving;
mod open;
mod open_file;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod plans;
mod prune;
mod readers;
mod rows;
mod runs;
mod select;
mod settings;
mod subtrees;
mod sums;
mod usage;
mod writer;
mod writer_cache;

use std::{
    path::Path,
    sync::{Arc, OnceLock},
    time::Instant,
};

use async_trait::async_trait;
use entourage_store::{
    AgentQuery, Claim, Commit, Committed, CommittedEvents, EntityQuery, Error, EventQuery, ItemQuery, Result,
    RunCount, RunQuery, Store, Subtree, UsageQuery, metrics as named,
};
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, Entity, EntityKind, Event, Item, Post, PostId, Run, RunId, Scope, Step,
    StepKey, Time, UsageRow, Wakeup, WakeupId,
};
use metrics::histogram;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::broadcast;

pub use copy::copy;
pub use database::SqliteFile;
pub use entourage_store::Durability;
pub use moving::SqliteRows;
pub use settings::{Settings, Statements};

use crate::{
    claim::Claimed, database_copy::DatabaseCopy, group::WriterState, job::Hints, lock::Lock,
    open_file::OpenFile, readers::Readers, settings::parallel_reads, writer::Writer,
};

/// The number of hints buffered for a subscriber; one that lags further reads the facts again.
const HINTS: usize = 1024;

/// A claim that reads at most this many items is a short read.
const FEW_ITEMS: u64 = 200;

/// The database version that this program works with.
pub const VERSION: u32 = migrate::LATEST;

/// The embedded store: a handle on an open database, with hints of the commits made through it. Dropping the
/// last handle finishes the pending work, merges the log into the database file and releases the file; that
/// may take a moment and blocks the thread.
pub struct SqliteStore {
    database: Arc<Database>,
    hints: Hints,
}

/// An open database.
// The fields are dropped in this order: the readers release the log before the writer merges it, and no other
// process may open the database before both are done.
struct Database {
    readers: Readers,
    writer: Writer,
    /// The damage of the file, once a call has met it.
    damaged: OnceLock<String>,
    _lock: Lock,
    _temporary: Option<TempDir>,
}

impl SqliteStore {
    /// Opens the database at `path`, or creates a new one there, with the directories above it.
    ///
    /// # Errors
    /// [`Error::InUse`] if a process has it open; [`Error::Unusable`] if the file is not a database of this
    /// program, is of a newer version, or cannot be written.
    pub fn open(path: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        Self::start(path.as_ref(), Some(settings.durability), &settings, None)
    }

    /// Opens the database at `path` for reading. If the database cannot be written, as on a read-only disk,
    /// opens a copy in a temporary directory; what is written to the copy is deleted with it.
    ///
    /// # Errors
    /// As for [`open`](Self::open), or if no copy can be made.
    pub fn open_to_read(path: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        if !database_copy::is_needed(path.as_ref()) {
            return Self::open(path, settings);
        }
        let DatabaseCopy { path, held, directory } = database_copy::copied(path.as_ref())?;
        drop(held);
        Self::start(&path, None, &settings, Some(directory))
    }

    /// Returns the version of the database at `path`: how many of this program's migrations it has had. None
    /// if there is no file.
    ///
    /// # Errors
    /// [`Error::Unusable`] if the file is not a database of this program.
    pub fn version_of(path: impl AsRef<Path>) -> Result<Option<u32>> {
        open::version_of(path.as_ref())
    }

    /// Opens a store for tests and trials, deleted when dropped: a database in a temporary directory whose
    /// writes are never synced, otherwise the same.
    ///
    /// # Errors
    /// [`Error::Unusable`] if the system's temporary directory cannot be written.
    pub fn in_memory() -> Result<Self> {
        let directory = open::temporary()?;
        let path = directory.path().join("entourage.db");
        Self::start(&path, None, &Settings { readers: 2, ..Settings::default() }, Some(directory))
    }

    fn start(
        path: &Path,
        durability: Option<Durability>,
        settings: &Settings,
        temporary: Option<TempDir>,
    ) -> Result<Self> {
        // The same file and lock, however the path is written and whatever the process's working directory
        // becomes.
        let path = &path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or(path.into());
        let unusable = |error: std::io::Error, what: &str| Error::Unusable {
            path: path.display().to_string(),
            why: format!("{what}: {error}"),
        };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|error| unusable(error, "its directory cannot be made"))?;
        }
        let lock = lock::take(path)?;
        if !path.exists() {
            // SQLite would make it readable for every user; the files beside it get its mode.
            lock::private(path).map_err(|error| unusable(error, "it cannot be made"))?;
        }
        let mut writer = open::writer(path, durability, settings.migrate)?;
        let file = OpenFile::of(path);
        let connections = |count| (0..count).map(|_| open::reader(path)).collect::<Result<Vec<_>>>();
        let (mut near, mut far) = (connections(parallel_reads())?, connections(settings.readers.max(1))?);
        if let Some(statements) = &settings.statements {
            std::iter::once(&mut writer)
                .chain(&mut near)
                .chain(&mut far)
                .try_for_each(|on| open::hear_statements(on, statements))?;
        }
        let no_thread = |error| unusable(error, "a thread cannot be started");
        let database = Database {
            readers: Readers::start(near, far).map_err(no_thread)?,
            writer: Writer::start(WriterState::new(writer, settings.patience, file), durability)
                .map_err(no_thread)?,
            damaged: OnceLock::new(),
            _lock: lock,
            _temporary: temporary,
        };
        Ok(Self { database: Arc::new(database), hints: Hints::new(HINTS) })
    }

    /// Returns another handle on the same database, with hints of its own commits only, as in another
    /// process.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self { database: Arc::clone(&self.database), hints: Hints::new(HINTS) }
    }

    /// Runs a read that may be long.
    async fn read<T: Send + 'static>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&Connection) -> fault::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.noted(measured(self.database.readers.read(scope, read)).await)
    }

    /// Runs a short read: one row, or a few by their index.
    async fn read_short<T: Send + 'static>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&Connection) -> fault::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.noted(measured(self.database.readers.read_short(scope, read)).await)
    }

    /// Remembers that the file is damaged, if the call has met that.
    fn noted<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(Error::Damaged(why)) = &outcome {
            let _ = self.database.damaged.set(why.clone());
        }
        outcome
    }
}

async fn measured<T>(read: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let read = read.await;
    histogram!(named::READ).record(began.elapsed());
    read
}

#[async_trait]
impl Store for SqliteStore {
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>> {
        let sees = scope.clone();
        let read = move |on: &Connection| Ok(agents::get(on, id)?.filter(|agent| sees.sees(&agent.owner)));
        self.read_short(scope, read).await
    }

    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>> {
        // A key is unique in its tree.
        let is_short = query.root.is_some() && query.key.is_some();
        let sees = scope.clone();
        let read = move |on: &Connection| agents::list(on, &sees, &query);
        if is_short { self.read_short(scope, read).await } else { self.read(scope, read).await }
    }

    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>> {
        let sees = scope.clone();
        self.read(scope, move |on| items::list(on, &sees, &query)).await
    }

    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>> {
        let is_short = query.id.is_some() || query.agent.is_some() && query.page.limit == 1 && !query.open;
        let sees = scope.clone();
        let read = move |on: &Connection| runs::list(on, &sees, &query);
        if is_short { self.read_short(scope, read).await } else { self.read(scope, read).await }
    }

    async fn count_runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<RunCount>> {
        let sees = scope.clone();
        self.read(scope, move |on| runs::counts(on, &sees, &query)).await
    }

    async fn usage(&self, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>> {
        let sees = scope.clone();
        self.read(scope, move |on| usage::sums(on, &sees, query)).await
    }

    async fn subtrees(&self, scope: &Scope, agents: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>> {
        let (sees, agents) = (scope.clone(), agents.to_vec());
        self.read(scope, move |on| subtrees::list(on, &sees, &agents)).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
        let sees = scope.clone();
        self.read(scope, move |on| runs::steps(on, &sees, run)).await
    }

    async fn step(&self, scope: &Scope, run: RunId, key: &StepKey) -> Result<Option<Step>> {
        let (sees, key) = (scope.clone(), key.to_string());
        self.read_short(scope, move |on| runs::step(on, &sees, run, &key)).await
    }

    async fn budget(&self, scope: &Scope, id: &BudgetId) -> Result<Option<Budget>> {
        let (sees, id) = (scope.clone(), id.clone());
        self.read_short(scope, move |on| budgets::get(on, &sees, &id)).await
    }

    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        let (sees, id) = (scope.clone(), id.to_owned());
        self.read_short(scope, move |on| entities::get(on, &sees, kind, &id)).await
    }

    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>> {
        let sees = scope.clone();
        self.read(scope, move |on| entities::list(on, &sees, &query)).await
    }

    async fn select_events(&self, scope: &Scope, query: EventQuery) -> Result<Vec<Event>> {
        let sees = scope.clone();
        self.read(scope, move |on| events::list(on, &sees, &query)).await
    }

    async fn last_event(&self, scope: &Scope, root: AgentId) -> Result<u64> {
        let sees = scope.clone();
        self.read_short(scope, move |on| events::last_seen(on, &sees, root)).await
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        self.read_short(&Scope::All, move |on| inbox::due(on, until, after, limit)).await
    }

    async fn is_due(&self, agent: AgentId, until: Time) -> Result<bool> {
        self.read_short(&Scope::All, move |on| inbox::is_due(on, agent, until)).await
    }

    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>> {
        if self.database.writer.knows_empty_inbox(agent) {
            return Ok(Vec::new());
        }
        self.read_short(&Scope::All, move |on| inbox::posts(on, agent)).await
    }

    async fn post_ids(&self, agent: AgentId, limit: u32) -> Result<Vec<PostId>> {
        if self.database.writer.knows_empty_inbox(agent) {
            return Ok(Vec::new());
        }
        self.read_short(&Scope::All, move |on| inbox::post_ids(on, agent, limit)).await
    }

    async fn posts(&self, agent: AgentId, ids: Vec<PostId>) -> Result<Vec<Post>> {
        self.read_short(&Scope::All, move |on| inbox::posts_of(on, agent, &ids)).await
    }

    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        let (agent, unsettled) = match self.noted(self.database.writer.claim(agent, &self.hints).await)? {
            None => return Ok(None),
            Some(Claimed::New(claim)) => return Ok(Some(*claim)),
            Some(Claimed::Known(agent, unsettled)) => (*agent, unsettled),
        };
        let (owner, is_short) = (Scope::from(&agent.owner), agent.items.saturating_sub(from) <= FEW_ITEMS);
        let read = move |on: &Connection| claim::read(on, agent, unsettled, from);
        let claim =
            if is_short { self.read_short(&owner, read).await } else { self.read(&owner, read).await };
        claim.map(Some)
    }

    async fn commit(&self, commit: Commit) -> Result<Committed> {
        let began = Instant::now();
        let committed = self.database.writer.commit(commit, &self.hints).await;
        histogram!(named::COMMIT).record(began.elapsed());
        self.noted(committed)
    }

    async fn ready(&self) -> Result<()> {
        self.noted(self.database.writer.ready(&self.hints).await)
    }

    fn damage(&self) -> Option<String> {
        self.database.damaged.get().cloned()
    }

    fn changed(&self) -> broadcast::Receiver<Arc<CommittedEvents>> {
        self.hints.changed.subscribe()
    }

    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>> {
        self.hints.woken.subscribe()
    }
}
