//! The Store seam: reads, one `claim`, one `commit`, one `changed` hint.
//!
//! A store is what passes the suite in `conformance`. What holds once a call returned stands with the call.

mod changed;
mod commit;
pub mod conformance;
mod derive;
mod error;
pub mod judge;
mod layer;
mod memory;
pub mod metrics;
mod query;
mod usage;
pub mod words;

use std::sync::Arc;

use async_trait::async_trait;
use entourage_types::{
    Agent, AgentId, Entity, EntityKind, Event, Item, Post, Run, RunId, Scope, Step, Time, UsageRow, Wakeup,
    WakeupId,
};
use tokio::sync::broadcast;

pub use changed::Changed;
pub use commit::{Commit, Committed, Expect, Fence, Write};
pub use derive::not_before;
pub use error::Error;
pub use layer::{Layered, StoreLayer};
pub use memory::MemoryStore;
pub use query::{AgentQuery, EntityQuery, ItemQuery, Page, RunCount, RunQuery};
pub use usage::{Spender, Sums, UsageQuery};

/// What every method returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where everything is kept. Implementations are `store-sqlite` and `store-postgres`.
///
/// Every read takes a [`Scope`]: a row of another owner reads as if it did not exist.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// One agent, if the scope sees it.
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>>;

    /// Agents in the order they were made, oldest first (newest first where the query says so).
    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>>;

    /// Items of one transcript in their order.
    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>>;

    /// Runs in the order they were started.
    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>>;

    /// How many of these runs are of which version of which kind, in the order of (kind, version); the
    /// query's page is ignored.
    async fn count_runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<RunCount>>;

    /// What model calls used, added up. What was used by a run that was removed since stays counted.
    async fn usage(&self, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>>;

    /// The steps of one run in the order they were begun.
    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>>;

    /// One entity.
    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>>;

    /// Entities, oldest first; with a text query, best match first.
    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>>;

    /// Events of one tree with numbers above `after`, in order and without gaps: as many as `limit`, or
    /// fewer where they are large, and at least one where there is one.
    async fn events(&self, scope: &Scope, root: AgentId, after: u64, limit: u32) -> Result<Vec<Event>>;

    /// The number of a tree's last event; 0 where there is none.
    async fn last_event(&self, scope: &Scope, root: AgentId) -> Result<u64>;

    /// Wake-ups due at `until` or before, in the order of (due, id), after the given one.
    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>>;

    /// The posts in an agent's inbox, in the order in which they arrived in the store, whatever their writers'
    /// clocks said.
    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>>;

    /// Takes the agent for one activation: raises its epoch, and reads what the activation starts
    /// from. None when there is no such agent.
    ///
    /// Once it returned, no commit under an earlier epoch of this agent succeeds, for as long as
    /// anybody is there to hold one: a store that lives in one process may keep a raised epoch in
    /// memory until the first commit under it.
    ///
    /// Items numbered below `from` are not read: items never change, so whoever holds them from
    /// before holds them still. 0 reads the whole session.
    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>>;

    /// Everything that changes, at once or not at all.
    ///
    /// Once it returned, the writes and the events derived from them are durable, and the hints
    /// have been sent. On an error nothing changed; on [`Error::Unknown`] nobody knows, and a store that says so
    /// remembers for an hour which commits happened, so that one that is repeated under its id happens once.
    async fn commit(&self, commit: Commit) -> Result<Committed>;

    /// Whether commits can be made durable now. Changes nothing. A store whose last commit failed for
    /// its own sake tries the disk anew; otherwise this costs next to nothing.
    async fn ready(&self) -> Result<()>;

    /// How the database was found to be damaged since it was opened; none while nothing was met.
    fn damage(&self) -> Option<String>;

    /// A hint after each commit that told something: the events. A subscriber that lags loses
    /// hints, never facts: it reads `events` again.
    fn changed(&self) -> broadcast::Receiver<Arc<Changed>>;

    /// A hint after each commit that woke somebody: the wake-ups, due or not. A subscriber that
    /// lags reads `due` again.
    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>>;
}

/// What an activation starts from, read after its epoch was raised.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The agent, with the new epoch.
    pub agent: Agent,
    /// Its last run, if that has not ended: an agent has one run at a time.
    pub run: Option<Run>,
    /// The steps of that run.
    pub steps: Vec<Step>,
    /// The transcript of the current session, from the number that was asked for.
    pub items: Vec<Item>,
    /// The inbox, in order.
    pub inbox: Vec<Post>,
    /// The wake-ups of this agent that are due or not: the stop of the activation consumes those
    /// it has served.
    pub wakeups: Vec<Wakeup>,
}
