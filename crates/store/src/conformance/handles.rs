//! Two handles on the same rows, as in two processes: one reads and claims what the other writes.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, Entity, EntityKind, Event, Item, Post, Run, RunId, Scope, Step,
    StepKey, Time, UsageRow, Wakeup, WakeupId,
};
use tokio::sync::broadcast;

use super::Backing;
use crate::{
    AgentQuery, Claim, Commit, Committed, CommittedEvents, EntityQuery, EventQuery, ItemQuery, Result,
    RunCount, RunQuery, Store, Subtree, UsageQuery,
};

/// A place on which two handles can be open at once, each with hints of its own commits only.
#[async_trait]
pub trait Handles: Backing {
    /// Opens two handles.
    async fn open_two(&self) -> Result<[Self::Store; 2]>;
}

/// A place whose store commits through one handle, and reads and claims through the other: to run the whole
/// suite over two handles.
pub struct TwoHandles<P>(pub P);

#[async_trait]
impl<P: Handles> Backing for TwoHandles<P> {
    type Store = SplitHandles<P::Store>;

    async fn open(&self) -> Result<SplitHandles<P::Store>> {
        let [writes, reads] = self.0.open_two().await?;
        Ok(SplitHandles { writes, reads })
    }
}

/// Two handles as one store.
pub struct SplitHandles<S> {
    writes: S,
    reads: S,
}

#[async_trait]
impl<S: Store> Store for SplitHandles<S> {
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>> {
        self.reads.agent(scope, id).await
    }

    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>> {
        self.reads.agents(scope, query).await
    }

    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>> {
        self.reads.items(scope, query).await
    }

    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>> {
        self.reads.runs(scope, query).await
    }

    async fn count_runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<RunCount>> {
        self.reads.count_runs(scope, query).await
    }

    async fn usage(&self, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>> {
        self.reads.usage(scope, query).await
    }

    async fn subtrees(&self, scope: &Scope, agents: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>> {
        self.reads.subtrees(scope, agents).await
    }

    async fn budget(&self, scope: &Scope, id: &BudgetId) -> Result<Option<Budget>> {
        self.reads.budget(scope, id).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
        self.reads.steps(scope, run).await
    }

    async fn step(&self, scope: &Scope, run: RunId, key: &StepKey) -> Result<Option<Step>> {
        self.reads.step(scope, run, key).await
    }

    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        self.reads.entity(scope, kind, id).await
    }

    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>> {
        self.reads.entities(scope, query).await
    }

    async fn select_events(&self, scope: &Scope, query: EventQuery) -> Result<Vec<Event>> {
        self.reads.select_events(scope, query).await
    }

    async fn last_event(&self, scope: &Scope, root: AgentId) -> Result<u64> {
        self.reads.last_event(scope, root).await
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        self.reads.due(until, after, limit).await
    }

    async fn is_due(&self, agent: AgentId, until: Time) -> Result<bool> {
        self.reads.is_due(agent, until).await
    }

    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>> {
        self.reads.inbox(agent).await
    }

    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        self.reads.claim(agent, from).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed> {
        self.writes.commit(commit).await
    }

    async fn ready(&self) -> Result<()> {
        self.writes.ready().await
    }

    fn damage(&self) -> Option<String> {
        self.reads.damage()
    }

    fn changed(&self) -> broadcast::Receiver<Arc<CommittedEvents>> {
        self.writes.changed()
    }

    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>> {
        self.writes.woken()
    }
}
