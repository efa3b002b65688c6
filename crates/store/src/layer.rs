//! Layers between an engine and its store, to watch or to disturb the calls. [`Layered`] forwards all calls,
//! so that a layer implements only what it does differently.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, Entity, EntityKind, Event, Item, Owner, Post, PostId, Run, RunId,
    Scope, Step, StepKey, Time, UsageRow, Wakeup, WakeupId,
};
use tokio::sync::broadcast;

use crate::{
    AgentQuery, Claim, Commit, Committed, CommittedEvents, EntityQuery, EventQuery, ItemQuery, Nodes, Result,
    RunCount, RunQuery, Store, Subtree, UsageQuery,
};

/// A layer between an engine and its store. The default methods change nothing.
#[async_trait]
pub trait StoreLayer: Send + Sync + 'static {
    /// Called before each asynchronous call. If it fails, the caller gets its error, and the store is not
    /// called.
    async fn pass(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the scope under which the store is read.
    fn scope(&self, scope: &Scope) -> Scope {
        scope.clone()
    }

    /// Called with the owner of each agent, run, entity or usage row that a read under `scope` returns.
    fn shown(&self, scope: &Scope, owner: &Owner) {
        let _ = (scope, owner);
    }

    /// Returns the events that a read returns to the caller.
    fn events(&self, events: Vec<Event>) -> Vec<Event> {
        events
    }

    /// Forwards a claim.
    async fn claim(&self, store: &Arc<dyn Store>, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        store.claim(agent, from).await
    }

    /// Forwards a commit.
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        store.commit(commit).await
    }

    /// Returns what the handle's node keeps in the store.
    fn nodes(&self, store: &dyn Store) -> Option<Arc<dyn Nodes>> {
        store.nodes()
    }

    /// Forwards a call of [`Store::ready`].
    async fn ready(&self, store: &Arc<dyn Store>) -> Result<()> {
        store.ready().await
    }
}

/// A store behind a layer.
pub struct Layered<B> {
    store: Arc<dyn Store>,
    between: B,
}

impl<B: StoreLayer> Layered<B> {
    /// Puts the layer `between` in front of a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, between: B) -> Self {
        Self { store, between }
    }

    async fn enter(&self, scope: &Scope) -> Result<Scope> {
        self.between.pass().await?;
        Ok(self.between.scope(scope))
    }

    fn show<'a>(&self, scope: &Scope, owners: impl IntoIterator<Item = &'a Owner>) {
        owners.into_iter().for_each(|owner| self.between.shown(scope, owner));
    }
}

#[async_trait]
impl<B: StoreLayer> Store for Layered<B> {
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>> {
        let found = self.store.agent(&self.enter(scope).await?, id).await?;
        self.show(scope, found.iter().map(|agent| &agent.owner));
        Ok(found)
    }

    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>> {
        let found = self.store.agents(&self.enter(scope).await?, query).await?;
        self.show(scope, found.iter().map(|agent| &agent.owner));
        Ok(found)
    }

    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>> {
        self.store.items(&self.enter(scope).await?, query).await
    }

    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>> {
        let found = self.store.runs(&self.enter(scope).await?, query).await?;
        self.show(scope, found.iter().map(|run| &run.owner));
        Ok(found)
    }

    async fn count_runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<RunCount>> {
        self.store.count_runs(&self.enter(scope).await?, query).await
    }

    async fn usage(&self, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>> {
        let found = self.store.usage(&self.enter(scope).await?, query).await?;
        self.show(scope, found.iter().filter_map(|row| row.owner.as_ref()));
        Ok(found)
    }

    async fn subtrees(&self, scope: &Scope, agents: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>> {
        self.store.subtrees(&self.enter(scope).await?, agents).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
        self.store.steps(&self.enter(scope).await?, run).await
    }

    async fn step(&self, scope: &Scope, run: RunId, key: &StepKey) -> Result<Option<Step>> {
        self.store.step(&self.enter(scope).await?, run, key).await
    }

    async fn budget(&self, scope: &Scope, id: &BudgetId) -> Result<Option<Budget>> {
        self.store.budget(&self.enter(scope).await?, id).await
    }

    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        let found = self.store.entity(&self.enter(scope).await?, kind, id).await?;
        self.show(scope, found.iter().map(|entity| &entity.owner));
        Ok(found)
    }

    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>> {
        let found = self.store.entities(&self.enter(scope).await?, query).await?;
        self.show(scope, found.iter().map(|entity| &entity.owner));
        Ok(found)
    }

    async fn select_events(&self, scope: &Scope, query: EventQuery) -> Result<Vec<Event>> {
        let scope = self.enter(scope).await?;
        Ok(self.between.events(self.store.select_events(&scope, query).await?))
    }

    async fn last_event(&self, scope: &Scope, root: AgentId) -> Result<u64> {
        self.store.last_event(&self.enter(scope).await?, root).await
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        self.between.pass().await?;
        self.store.due(until, after, limit).await
    }

    async fn is_due(&self, agent: AgentId, until: Time) -> Result<bool> {
        self.between.pass().await?;
        self.store.is_due(agent, until).await
    }

    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>> {
        self.between.pass().await?;
        self.store.inbox(agent).await
    }

    async fn post_ids(&self, agent: AgentId, limit: u32) -> Result<Vec<PostId>> {
        self.between.pass().await?;
        self.store.post_ids(agent, limit).await
    }

    async fn posts(&self, agent: AgentId, ids: Vec<PostId>) -> Result<Vec<Post>> {
        self.between.pass().await?;
        self.store.posts(agent, ids).await
    }

    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        self.between.pass().await?;
        self.between.claim(&self.store, agent, from).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed> {
        self.between.pass().await?;
        self.between.commit(&self.store, commit).await
    }

    async fn ready(&self) -> Result<()> {
        self.between.pass().await?;
        self.between.ready(&self.store).await
    }

    fn damage(&self) -> Option<String> {
        self.store.damage()
    }

    fn nodes(&self) -> Option<Arc<dyn Nodes>> {
        self.between.nodes(&*self.store)
    }

    fn changed(&self) -> broadcast::Receiver<Arc<CommittedEvents>> {
        self.store.changed()
    }

    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>> {
        self.store.woken()
    }
}
