//! A store that can be closed: afterwards, code that still holds it gets errors, and no file stays locked.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_store::{
    AgentQuery, Claim, Commit, Committed, CommittedEvents, EntityQuery, Error, EventQuery, ItemQuery, Nodes,
    Result, RunCount, RunQuery, Store, Subtree, UsageQuery,
};
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, Entity, EntityKind, Event, Item, Post, PostId, Run, RunId, Scope, Step,
    StepKey, Time, UsageRow, Wakeup, WakeupId,
};
use tokio::sync::{RwLock, RwLockReadGuard, broadcast};

/// Passes calls to a store until it is closed, and returns errors from then on.
pub(crate) struct Closable {
    /// Each call holds the read lock for as long as it lasts, so that no call is running once the store is
    /// closed.
    store: RwLock<Option<Arc<dyn Store>>>,
}

impl Closable {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store: RwLock::new(Some(store)) }
    }

    /// Waits for the running calls, then drops the store.
    pub(crate) async fn close(&self) {
        let store = self.store.write().await.take();
        // Dropping a database first writes back its log, which blocks.
        let _ = tokio::task::spawn_blocking(move || drop(store)).await;
    }

    async fn open(&self) -> Result<RwLockReadGuard<'_, Arc<dyn Store>>> {
        RwLockReadGuard::try_map(self.store.read().await, Option::as_ref).map_err(|_| Error::Closed)
    }

    /// The hints of the store; a closed store sends none.
    fn hints<T: Clone>(
        &self,
        of: impl FnOnce(&dyn Store) -> broadcast::Receiver<T>,
    ) -> broadcast::Receiver<T> {
        match self.store.try_read().as_deref() {
            Ok(Some(store)) => of(&**store),
            _ => broadcast::channel(1).1,
        }
    }
}

#[async_trait]
impl Store for Closable {
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>> {
        self.open().await?.agent(scope, id).await
    }

    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>> {
        self.open().await?.agents(scope, query).await
    }

    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>> {
        self.open().await?.items(scope, query).await
    }

    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>> {
        self.open().await?.runs(scope, query).await
    }

    async fn count_runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<RunCount>> {
        self.open().await?.count_runs(scope, query).await
    }

    async fn usage(&self, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>> {
        self.open().await?.usage(scope, query).await
    }

    async fn subtrees(&self, scope: &Scope, agents: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>> {
        self.open().await?.subtrees(scope, agents).await
    }

    async fn budget(&self, scope: &Scope, id: &BudgetId) -> Result<Option<Budget>> {
        self.open().await?.budget(scope, id).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
        self.open().await?.steps(scope, run).await
    }

    async fn step(&self, scope: &Scope, run: RunId, key: &StepKey) -> Result<Option<Step>> {
        self.open().await?.step(scope, run, key).await
    }

    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        self.open().await?.entity(scope, kind, id).await
    }

    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>> {
        self.open().await?.entities(scope, query).await
    }

    async fn select_events(&self, scope: &Scope, query: EventQuery) -> Result<Vec<Event>> {
        self.open().await?.select_events(scope, query).await
    }

    async fn last_event(&self, scope: &Scope, root: AgentId) -> Result<u64> {
        self.open().await?.last_event(scope, root).await
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        self.open().await?.due(until, after, limit).await
    }

    async fn is_due(&self, agent: AgentId, until: Time) -> Result<bool> {
        self.open().await?.is_due(agent, until).await
    }

    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>> {
        self.open().await?.inbox(agent).await
    }

    async fn post_ids(&self, agent: AgentId, limit: u32) -> Result<Vec<PostId>> {
        self.open().await?.post_ids(agent, limit).await
    }

    async fn posts(&self, agent: AgentId, ids: Vec<PostId>) -> Result<Vec<Post>> {
        self.open().await?.posts(agent, ids).await
    }

    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        self.open().await?.claim(agent, from).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed> {
        self.open().await?.commit(commit).await
    }

    async fn ready(&self) -> Result<()> {
        self.open().await?.ready().await
    }

    fn damage(&self) -> Option<String> {
        self.store.try_read().ok()?.as_ref()?.damage()
    }

    fn nodes(&self) -> Option<Arc<dyn Nodes>> {
        self.store.try_read().ok()?.as_ref()?.nodes()
    }

    fn changed(&self) -> broadcast::Receiver<Arc<CommittedEvents>> {
        self.hints(|store| store.changed())
    }

    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>> {
        self.hints(|store| store.woken())
    }
}
