//! A store whose every method fails.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_store::{
    AgentQuery, Claim, Commit, Committed, CommittedEvents, EntityQuery, Error, EventQuery, ItemQuery, Result,
    RunCount, RunQuery, Store, Subtree, UsageQuery,
};
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, Entity, EntityKind, Event, Item, Post, Run, RunId, Scope, Step,
    StepKey, Time, UsageRow, Wakeup, WakeupId,
};
use tokio::sync::broadcast;

/// A store whose every method fails with the same error.
pub(crate) struct Broken {
    fail: fn() -> Error,
}

impl Broken {
    pub(crate) fn with(fail: fn() -> Error) -> Self {
        Self { fail }
    }

    fn fail<T>(&self) -> Result<T> {
        Err((self.fail)())
    }
}

#[async_trait]
impl Store for Broken {
    async fn agent(&self, _: &Scope, _: AgentId) -> Result<Option<Agent>> {
        self.fail()
    }

    async fn agents(&self, _: &Scope, _: AgentQuery) -> Result<Vec<Agent>> {
        self.fail()
    }

    async fn items(&self, _: &Scope, _: ItemQuery) -> Result<Vec<Item>> {
        self.fail()
    }

    async fn runs(&self, _: &Scope, _: RunQuery) -> Result<Vec<Run>> {
        self.fail()
    }

    async fn count_runs(&self, _: &Scope, _: RunQuery) -> Result<Vec<RunCount>> {
        self.fail()
    }

    async fn usage(&self, _: &Scope, _: UsageQuery) -> Result<Vec<UsageRow>> {
        self.fail()
    }

    async fn subtrees(&self, _: &Scope, _: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>> {
        self.fail()
    }

    async fn budget(&self, _: &Scope, _: &BudgetId) -> Result<Option<Budget>> {
        self.fail()
    }

    async fn steps(&self, _: &Scope, _: RunId) -> Result<Vec<Step>> {
        self.fail()
    }

    async fn step(&self, _: &Scope, _: RunId, _: &StepKey) -> Result<Option<Step>> {
        self.fail()
    }

    async fn entity(&self, _: &Scope, _: EntityKind, _: &str) -> Result<Option<Entity>> {
        self.fail()
    }

    async fn entities(&self, _: &Scope, _: EntityQuery) -> Result<Vec<Entity>> {
        self.fail()
    }

    async fn last_event(&self, _: &Scope, _: AgentId) -> Result<u64> {
        self.fail()
    }

    async fn select_events(&self, _: &Scope, _: EventQuery) -> Result<Vec<Event>> {
        self.fail()
    }

    async fn due(&self, _: Time, _: Option<(Time, WakeupId)>, _: u32) -> Result<Vec<Wakeup>> {
        self.fail()
    }

    async fn is_due(&self, _: AgentId, _: Time) -> Result<bool> {
        self.fail()
    }

    async fn inbox(&self, _: AgentId) -> Result<Vec<Post>> {
        self.fail()
    }

    async fn claim(&self, _: AgentId, _: u64) -> Result<Option<Claim>> {
        self.fail()
    }

    async fn commit(&self, _: Commit) -> Result<Committed> {
        self.fail()
    }

    async fn ready(&self) -> Result<()> {
        self.fail()
    }

    fn damage(&self) -> Option<String> {
        None
    }

    fn changed(&self) -> broadcast::Receiver<Arc<CommittedEvents>> {
        broadcast::Sender::new(1).subscribe()
    }

    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>> {
        broadcast::Sender::new(1).subscribe()
    }
}
