//! The interface between an engine and its database: reads, one `claim`, one `commit`, and hints after
//! commits.
//!
//! A type is a store if it passes the suite in `conformance`. The documentation of each method says what
//! holds once the method has returned.

mod budget;
mod changed;
mod commit;
pub mod conformance;
pub mod counter;
pub mod database;
mod derive;
mod durability;
mod error;
mod forgotten;
pub mod judge;
mod layer;
mod memory;
pub mod metrics;
pub mod moving;
mod nodes;
mod query;
mod recent;
mod records;
mod subtree_sums;
mod usage;
pub mod words;

use std::sync::Arc;

use async_trait::async_trait;
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, Entity, EntityKind, Event, Item, NodeId, Post, PostId, Run, RunId,
    Scope, Step, StepKey, Time, UsageRow, Wakeup, WakeupId,
};
use tokio::sync::broadcast;

pub use budget::{BudgetChange, DAYS_KEPT};
pub use changed::CommittedEvents;
pub use commit::{Commit, Committed, Expect, Fence, InboxSize, Write};
pub use database::Database;
pub use derive::monotonic_time;
pub use durability::Durability;
pub use error::Error;
pub use forgotten::Forgotten;
pub use layer::{Layered, StoreLayer};
pub use memory::{MemoryNodes, MemoryStore};
pub use nodes::{Alive, Held, LiveNode, NODE_LEASE, NodeInfo, NodeListener, Nodes};
pub use query::{AgentQuery, EntityQuery, EventQuery, ItemQuery, Page, RunCount, RunQuery, Subtree};
pub use recent::RecentCommits;
pub use records::{RecordFilter, Versioned};
pub use subtree_sums::{SubtreeSums, tally_figures};
pub use usage::{SpentBy, Sums, UsageQuery};

/// What every method returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The durable state of an engine. Implementations are [`MemoryStore`] and the crates
/// `entourage-store-sqlite` and `entourage-store-postgres`.
///
/// A read takes a [`Scope`]: a row of another owner reads as if it did not exist. Only `claim`, `due`
/// and what reads inboxes, which the engine itself calls, cover all owners.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Returns one agent, if the scope includes it.
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>>;

    /// Returns agents in the order in which they were first committed, oldest first unless the query asks for
    /// the newest first.
    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>>;

    /// Returns items of one transcript, by ascending number.
    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>>;

    /// Returns runs in the order in which they were first committed, oldest first unless the query asks for
    /// the newest first.
    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>>;

    /// Counts these runs by kind and version, in the order of (kind, version). Ignores the query's page.
    async fn count_runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<RunCount>>;

    /// Sums what model calls used. The usage of a run that was removed since stays counted.
    async fn usage(&self, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>>;

    /// Sums over each of these agents and all agents below it, in the order of `agents`; agents that the scope does
    /// not include are left out.
    async fn subtrees(&self, scope: &Scope, agents: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>>;

    /// Returns the steps of one run in the order in which they began.
    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>>;

    /// Returns one step of a run; none if the run has no such step.
    async fn step(&self, scope: &Scope, run: RunId, key: &StepKey) -> Result<Option<Step>>;

    /// What is on record of a budget; none if nothing is.
    async fn budget(&self, scope: &Scope, id: &BudgetId) -> Result<Option<Budget>>;

    /// Returns one entity, if the scope includes it.
    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>>;

    /// Returns entities in the order in which they were first committed, oldest first unless the query asks
    /// for the newest first; with a text query, the best match first.
    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>>;

    /// Returns events of one tree with numbers above `after`, in order and without gaps: up to `limit`, fewer
    /// if they are large, but at least one if there is one.
    async fn events(&self, scope: &Scope, root: AgentId, after: u64, limit: u32) -> Result<Vec<Event>> {
        self.select_events(scope, EventQuery::of(root, after, limit)).await
    }

    /// Returns events of one tree by query, in order: fewer than its limit if they are large, but at least one if
    /// there is one.
    async fn select_events(&self, scope: &Scope, query: EventQuery) -> Result<Vec<Event>>;

    /// Returns the number of a tree's last event, 0 if there is none.
    async fn last_event(&self, scope: &Scope, root: AgentId) -> Result<u64>;

    /// Returns the wake-ups that are due at `until` or before and come after `after` in the order of (due,
    /// id).
    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>>;

    /// Whether a wake-up of the agent is due at `until` or before.
    async fn is_due(&self, agent: AgentId, until: Time) -> Result<bool>;

    /// Returns the posts in an agent's inbox in the order of their commits, whatever the writers' clocks say.
    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>>;

    /// Returns the ids of posts in an agent's inbox, in any order, at most this many. It reads none of them, however
    /// large they are.
    async fn post_ids(&self, agent: AgentId, limit: u32) -> Result<Vec<PostId>> {
        Ok(self.inbox(agent).await?.into_iter().take(limit as usize).map(|post| post.id).collect())
    }

    /// Returns those of these posts that are in an agent's inbox, in the order of their commits.
    async fn posts(&self, agent: AgentId, ids: Vec<PostId>) -> Result<Vec<Post>> {
        Ok(self.inbox(agent).await?.into_iter().filter(|post| ids.contains(&post.id)).collect())
    }

    /// Claims the agent for one activation: raises its epoch, and reads what the activation starts from. None
    /// if there is no such agent.
    ///
    /// Once it has returned, no commit under an earlier epoch of this agent succeeds, for as long as any
    /// process can hold an earlier epoch. So a store that only one process can open may keep a raised epoch
    /// in memory until the first commit under it: the activations that hold epochs end with that process.
    ///
    /// Does not read items numbered below `from`: items never change, so an activation that has them from an
    /// earlier claim still has them. 0 reads the whole session.
    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>>;

    /// Applies a commit as a whole or not at all.
    ///
    /// Once it has returned `Ok`, the writes and the events derived from them are durable, every read that
    /// starts afterwards sees them, and the hints have been sent. On an error nothing has changed, except on
    /// [`Error::Unknown`]: then the outcome is not known.
    ///
    /// A commit that happened and is repeated under its id changes nothing more and returns the same again, whatever
    /// was claimed meanwhile. A store that may return `Unknown` remembers for an hour which commits happened; one
    /// that one process has to itself remembers some thousand, until it is closed ([`RecentCommits`]).
    async fn commit(&self, commit: Commit) -> Result<Committed>;

    /// Checks whether commits can be made durable now. Changes nothing that a read returns. If the last
    /// commit failed because of the store and not because of the commit, tries the disk again; otherwise the
    /// check costs next to nothing.
    async fn ready(&self) -> Result<()>;

    /// Returns the corruption that a call has met in the database since it was opened; none if no call has.
    fn damage(&self) -> Option<String>;

    /// What this handle's node keeps in the store that it shares with others; none if one process has the store to itself.
    fn nodes(&self) -> Option<Arc<dyn Nodes>> {
        None
    }

    /// Subscribes to a hint for each commit through this handle that has events: these events, sent once they
    /// are durable. A subscriber that lags loses hints but no facts: it reads `events` again.
    fn changed(&self) -> broadcast::Receiver<Arc<CommittedEvents>>;

    /// Subscribes to a hint for each commit through this handle that schedules wake-ups: these wake-ups, due
    /// or not, sent once they are durable. A subscriber that lags reads `due` again.
    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>>;
}

/// What an activation starts from, read after its epoch was raised.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The agent, with the new epoch.
    pub agent: Agent,
    /// The time on the clock that all nodes of this store share; none if they share none, as when one process
    /// has the store to itself.
    pub now: Option<Time>,
    /// How often the agent was claimed before, since the last commit under an epoch of it: 0 at the first claim and
    /// at the first after such a commit. A store that keeps raised epochs in memory counts these in memory, too,
    /// and begins anew when it is opened.
    pub unsettled: u64,
    /// The node that claimed the agent before, if that is another one than this handle's; none if none did, or if the
    /// store knows no nodes, as when one process has the store to itself.
    pub taken_from: Option<NodeId>,
    /// Its last run, if that has not ended: an agent has one run at a time.
    pub run: Option<Run>,
    /// The steps of that run.
    pub steps: Vec<Step>,
    /// The items of the current session, from the requested number on.
    pub items: Vec<Item>,
    /// The inbox, in order.
    pub inbox: Vec<Post>,
    /// The wake-ups of this agent, due or not. When the activation stops, it consumes those that it has
    /// served.
    pub wakeups: Vec<Wakeup>,
}
