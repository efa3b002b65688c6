//! Versions of kinds: a run keeps the version that it started with, also after the file was changed or
//! removed and the engine restarted; new runs take the new version. Reloading needs no restart.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use entourage_store::{EntityQuery, Page, Result as StoreResult, RunQuery, Store, Write};
use entourage_types::{Agent, Columns, Entity, EntityKind, Kind, Owner, Run, Scope, Status, Time};
use tokio::sync::OnceCell;

use crate::{
    Engine, Error, Kinds, Result,
    kinds::{Finding, Severity},
    news::ServerNews,
    pages::pages,
};

/// Reads the kinds again, with all findings about their files.
pub type Source = dyn Fn() -> Result<(Kinds, Vec<Finding>)> + Send + Sync;

/// The current kinds, and the versions that runs have started with.
pub(crate) struct Versions {
    now: RwLock<Arc<Kinds>>,
    source: Option<Arc<Source>>,
    /// Held during a reload: what was read first never replaces what was read later.
    reading: tokio::sync::Mutex<()>,
    /// Versions that are known to be in the store.
    kept: Mutex<HashMap<String, Arc<Kind>>>,
    /// The kinds with a version, current or stored, that bounds what a tree may spend: trees started by a removed kind
    /// keep its budget.
    with_budget: RwLock<HashSet<String>>,
    /// Set once the versions of earlier processes were looked at for that.
    looked: OnceCell<()>,
}

/// The result of a reload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reloaded {
    /// The names of kinds that are new.
    pub added: Vec<String>,
    /// Those that have another version now.
    pub changed: Vec<String>,
    /// Those that were removed. Open runs keep them.
    pub removed: Vec<String>,
    /// Findings that did not stop the reload: what has no effect in the files, and mistakes in files that the
    /// engine already left out.
    pub remarks: Vec<Finding>,
}

impl Reloaded {
    /// Whether any kind is other than before.
    #[must_use]
    pub const fn has_changes(&self) -> bool {
        !(self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty())
    }
}

impl Versions {
    pub(crate) fn new(kinds: Kinds, source: Option<Arc<Source>>) -> Self {
        let versions = Self {
            now: RwLock::default(),
            source,
            reading: tokio::sync::Mutex::default(),
            kept: Mutex::default(),
            with_budget: RwLock::default(),
            looked: OnceCell::new(),
        };
        versions.set(kinds);
        versions
    }

    /// Whether any version of any kind bounds what a tree may spend.
    pub(crate) fn have_budget(&self) -> bool {
        !self.with_budget.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether any version of this kind bounds what a tree may spend.
    pub(crate) fn may_bound(&self, kind: &str) -> bool {
        self.with_budget.read().unwrap_or_else(PoisonError::into_inner).contains(kind)
    }

    /// Looks at the versions that are stored, once.
    pub(crate) async fn look_for_budgets(&self, store: &dyn Store) -> StoreResult<()> {
        let look = async || {
            let scope = Scope::from(&Owner::engine());
            let mut pages = pages(store, &scope, EntityQuery::of(EntityKind::KIND));
            while let Some(page) = pages.next().await? {
                // What cannot be read is reported when a run needs it.
                let kinds = page.iter().filter_map(|stored| serde_json::from_str::<Kind>(&stored.body).ok());
                kinds.for_each(|kind| self.see(&kind));
            }
            Ok(())
        };
        self.looked.get_or_try_init(look).await.map(drop)
    }

    /// Makes these the current kinds.
    fn set(&self, kinds: Kinds) {
        kinds.iter().for_each(|kind| self.see(kind));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(kinds);
    }

    fn see(&self, kind: &Kind) {
        if kind.limits.have_budget() && !self.may_bound(&kind.name) {
            let mut with_budget = self.with_budget.write().unwrap_or_else(PoisonError::into_inner);
            with_budget.insert(kind.name.clone());
        }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Arc<Kind>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a write stores a version of a kind.
pub(crate) fn is_kind(write: &Write) -> bool {
    matches!(write, Write::Record(Entity { kind: EntityKind::KIND, .. }, _))
}

impl Engine {
    /// The kinds of this engine, as they are now.
    #[must_use]
    pub fn kinds(&self) -> Arc<Kinds> {
        Arc::clone(&self.inner.versions.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Leaves out the kinds that [cannot work here](Engine::check_kind), and returns why. For the start of an
    /// engine.
    pub fn leave_out_unusable(&self) -> Vec<Finding> {
        let mut kinds = Arc::unwrap_or_clone(self.kinds());
        let unusable = kinds.leave_out_where(|kind| self.check_kind(kind).err());
        if !unusable.is_empty() {
            self.inner.versions.set(kinds);
        }
        unusable
    }

    /// Reads the kinds again. New runs take the new versions; open runs keep theirs. Agents that wait for a budget of
    /// which a kind allows more now go on.
    ///
    /// # Errors
    /// [`Error::Kinds`] names every mistake with file and line, a missing guardrail, or a limit in money that
    /// cannot be enforced; [`Error::Invalid`] says that the kinds have no source. Either way nothing changes.
    pub async fn reload(&self) -> Result<Reloaded> {
        let Some(source) = self.inner.versions.source.clone() else {
            return Err(Error::Invalid("the kinds of this engine are not read from files".into()));
        };
        self.inner.servers.want();
        let _alone = self.inner.versions.reading.lock().await;
        let read = tokio::task::spawn_blocking(move || source()).await;
        let (kinds, findings) =
            read.map_err(|died| Error::Kinds(format!("reading them crashed: {died}")))??;
        let reloaded = self.renew(kinds, findings)?;
        if reloaded.has_changes() {
            // Beside the answer: many may wait.
            let engine = self.clone();
            tokio::spawn(async move { engine.wake_where_room().await });
        }
        Ok(reloaded)
    }

    /// Replaces the kinds by these, which the caller has read. New runs take the new versions; open runs keep
    /// theirs. Agents that wait for a budget look by themselves, within 15 minutes, whether these kinds allow more of
    /// it; [`wake_where_room`](Engine::wake_where_room), called after this, has them go on at once.
    ///
    /// # Errors
    /// [`Error::Kinds`] if a finding is a mistake, unless the engine already works without that file; nothing
    /// changes then.
    pub fn renew(&self, mut kinds: Kinds, findings: Vec<Finding>) -> Result<Reloaded> {
        let before = self.kinds();
        let stops =
            |finding: &Finding| finding.severity == Severity::Mistake && !before.leaves_out(&finding.file);
        let (mistakes, mut remarks): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(&stops);
        if !mistakes.is_empty() {
            let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            return Err(Error::Kinds(lines.join("\n")));
        }
        let unusable = kinds.leave_out_where(|kind| self.check_kind(kind).err());
        let new: Vec<String> =
            unusable.iter().filter(|finding| stops(finding)).map(|finding| finding.text.clone()).collect();
        if !new.is_empty() {
            return Err(Error::Kinds(new.join("\n")));
        }
        remarks.extend(unusable);
        let names = |kinds: &Kinds, fits: &dyn Fn(&Kind) -> bool| -> Vec<String> {
            kinds.iter().filter(|kind| fits(kind)).map(|kind| kind.name.clone()).collect()
        };
        let is_other = |kind: &Kind| before.get(&kind.name).is_some_and(|old| old.version != kind.version);
        let reloaded = Reloaded {
            added: names(&kinds, &|kind| before.get(&kind.name).is_none()),
            changed: names(&kinds, &is_other),
            removed: names(&before, &|kind| kinds.get(&kind.name).is_none()),
            remarks,
        };
        self.inner.versions.set(kinds);
        self.inner.toolsets.forget();
        self.inner.news.tell(ServerNews::Kinds);
        tracing::info!(?reloaded.added, ?reloaded.changed, ?reloaded.removed, "the kinds were reloaded");
        Ok(reloaded)
    }

    /// The kind that an agent works as: the version that its run started with, or the current one. If there
    /// is neither, the result is a bare kind without a version.
    pub(crate) async fn kind_of(&self, agent: &Agent, run: Option<&Run>) -> StoreResult<Arc<Kind>> {
        let now = self.kinds().get(&agent.kind);
        let Some(wanted) = run.map(|run| &run.kind_version) else {
            return Ok(now.unwrap_or_else(|| none(agent)));
        };
        match now.as_ref().filter(|now| now.version == *wanted) {
            Some(now) => Ok(Arc::clone(now)),
            // A run whose version was never stored goes on with the current one.
            None => Ok(self.version(wanted).await?.or(now).unwrap_or_else(|| none(agent))),
        }
    }

    /// The last run of an agent, open or ended.
    pub(crate) async fn last_run(&self, agent: &Agent) -> StoreResult<Option<Run>> {
        let page = Page { limit: 1, newest_first: true, ..Page::default() };
        let query = RunQuery { agent: Some(agent.id), page, ..RunQuery::default() };
        Ok(self.store().runs(&Scope::from(&agent.owner), query).await?.pop())
    }

    /// The kind that an agent works as now: that of its open run, or else the current one.
    ///
    /// # Errors
    /// [`Error::UnknownKind`] if neither is there any more.
    pub(crate) async fn kind_at_work(&self, agent: &Agent) -> Result<Arc<Kind>> {
        if !matches!(agent.status, Status::Running | Status::Waiting) {
            return self.kinds().named(&agent.kind);
        }
        let open = self.last_run(agent).await?.filter(|run| run.ended.is_none());
        let kind = self.kind_of(agent, open.as_ref()).await?;
        if kind.version.is_empty() { self.kinds().named(&agent.kind) } else { Ok(kind) }
    }

    /// A version that some run has started with; none, too, if what is stored of it cannot be read: a run can
    /// then still go on with the current one, and be ended.
    pub(crate) async fn version(&self, version: &str) -> StoreResult<Option<Arc<Kind>>> {
        if let Some(kept) = self.inner.versions.kept().get(version) {
            return Ok(Some(Arc::clone(kept)));
        }
        let found = self.store().entity(&Scope::All, EntityKind::KIND, version).await?;
        let Some(entity) = found else { return Ok(None) };
        let kind: Kind = match serde_json::from_str(&entity.body) {
            Ok(kind) => kind,
            Err(error) => {
                tracing::error!(version, %error, "the stored version of a kind cannot be read");
                return Ok(None);
            }
        };
        let kind = Arc::new(kind);
        self.kept(&kind);
        Ok(Some(kind))
    }

    /// The write that stores a version for the runs that start with it; none if it is stored already: it keeps the
    /// time when a run first started with it.
    pub(crate) async fn keep(&self, kind: &Arc<Kind>, at: Time) -> StoreResult<Option<Write>> {
        if kind.version.is_empty() || self.version(&kind.version).await?.is_some() {
            return Ok(None);
        }
        let columns = Columns {
            id: kind.version.clone(),
            owner: Owner::engine(),
            root: None,
            parent: None,
            status: "kept",
            created: at,
            updated: at,
            name: None,
            text: None,
        };
        Ok(Some(Write::entity(columns.entity(EntityKind::KIND, serde_json::to_string(kind)?))))
    }

    /// Notes that a version is in the store.
    pub(crate) fn kept(&self, kind: &Arc<Kind>) {
        self.inner.versions.see(kind);
        self.inner.versions.kept().insert(kind.version.clone(), Arc::clone(kind));
    }
}

fn none(agent: &Agent) -> Arc<Kind> {
    Arc::new(Kind::bare(&agent.kind))
}
