//! Deaths on demand: a store that fails at a chosen commit, before it or after it, or loses the
//! epoch to somebody else. Wrap your own store and try your own tools with it.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use entourage_store::{
    AgentQuery, Changed, Claim, Commit, Committed, EntityQuery, Error, ItemQuery, Result, RunQuery, Store,
};
use entourage_types::{
    Agent, AgentId, Entity, EntityKind, Event, Item, Post, Run, RunId, Scope, Step, Time, Wakeup, WakeupId,
};
use tokio::sync::{Notify, broadcast};

/// What happens at the chosen commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process dies before the commit: it never happens.
    DieBefore,
    /// The process dies after the commit: it happened, and nobody heard of it.
    DieAfter,
    /// Another worker takes the agent just before, and does the rest: the commit is refused.
    LoseEpoch,
}

/// The faults of one life of a process, shared by its stores.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    commits: AtomicU64,
    dead: AtomicBool,
    died: Notify,
    lost: Mutex<Option<AgentId>>,
    taken: Notify,
    plan: Option<(u64, Fault)>,
}

impl Faults {
    /// A life without faults; it counts its commits.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// A life with one fault, at the `at`th fenced commit, counted from 1.
    #[must_use]
    pub fn at(at: u64, fault: Fault) -> Self {
        Self { inner: Arc::new(Inner { plan: Some((at, fault)), ..Inner::default() }) }
    }

    /// How many fenced commits there were.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.inner.commits.load(Ordering::SeqCst)
    }

    /// Whether the process has died.
    #[must_use]
    pub fn dead(&self) -> bool {
        self.inner.dead.load(Ordering::SeqCst)
    }

    /// Returns once the process has died.
    pub async fn died(&self) {
        let notified = self.inner.died.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.dead() {
            notified.await;
        }
    }

    /// Returns the agent that another worker has taken, once one has; that worker is to go on.
    pub async fn lost(&self) -> AgentId {
        loop {
            let taken = self.inner.taken.notified();
            if let Some(agent) = self.inner.lost.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return agent;
            }
            taken.await;
        }
    }

    fn die<T>(&self) -> Result<T> {
        self.inner.dead.store(true, Ordering::SeqCst);
        self.inner.died.notify_waiters();
        Err(Error::Closed)
    }

    fn alive(&self) -> Result<()> {
        if self.dead() { Err(Error::Closed) } else { Ok(()) }
    }
}

/// A store as one process sees it, until that process dies.
pub struct Faulty {
    store: Arc<dyn Store>,
    faults: Faults,
}

impl Faulty {
    /// The store, seen by a process with these faults.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, faults: Faults) -> Self {
        Self { store, faults }
    }
}

#[async_trait]
impl Store for Faulty {
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>> {
        self.faults.alive()?;
        self.store.agent(scope, id).await
    }

    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>> {
        self.faults.alive()?;
        self.store.agents(scope, query).await
    }

    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>> {
        self.faults.alive()?;
        self.store.items(scope, query).await
    }

    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>> {
        self.faults.alive()?;
        self.store.runs(scope, query).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
        self.faults.alive()?;
        self.store.steps(scope, run).await
    }

    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        self.faults.alive()?;
        self.store.entity(scope, kind, id).await
    }

    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>> {
        self.faults.alive()?;
        self.store.entities(scope, query).await
    }

    async fn events(&self, scope: &Scope, root: AgentId, after: u64, limit: u32) -> Result<Vec<Event>> {
        self.faults.alive()?;
        self.store.events(scope, root, after, limit).await
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        self.faults.alive()?;
        self.store.due(until, after, limit).await
    }

    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>> {
        self.faults.alive()?;
        self.store.inbox(agent).await
    }

    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        self.faults.alive()?;
        self.store.claim(agent, from).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed> {
        self.faults.alive()?;
        let Some(fence) = commit.fence else { return self.store.commit(commit).await };
        let number = self.faults.inner.commits.fetch_add(1, Ordering::SeqCst) + 1;
        match self.faults.inner.plan {
            Some((at, fault)) if at == number => match fault {
                Fault::DieBefore => self.faults.die(),
                Fault::DieAfter => {
                    self.store.commit(commit).await?;
                    self.faults.die()
                }
                Fault::LoseEpoch => {
                    self.store.claim(fence.agent, u64::MAX).await?;
                    let refused = self.store.commit(commit).await;
                    let mut lost = self.faults.inner.lost.lock().unwrap_or_else(PoisonError::into_inner);
                    *lost = Some(fence.agent);
                    self.faults.inner.taken.notify_one();
                    refused
                }
            },
            _ => self.store.commit(commit).await,
        }
    }

    fn changed(&self) -> broadcast::Receiver<Arc<Changed>> {
        self.store.changed()
    }

    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>> {
        self.store.woken()
    }
}
