//! The rows of a store as types: what authors wrote, and nothing that is computed from other rows.

use std::fmt;

use entourage_types::{
    Agent, AgentId, Amount, Budget, BudgetId, Entity, Event, HourlyUsage, Item, Owner, Post, Run, Step,
    Tally, Wakeup, plain,
};

/// A page of rows of one kind, in the order of the lists. The number of an agent's items, sums of branches and of agents in
/// a status, the words of texts and the last numbers of trees are not in it: they follow from it.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredRows {
    /// Agents, each one behind those above it.
    Agents(Vec<Agent>),
    /// Items, by transcript and number.
    Items(Vec<Item>),
    /// Runs.
    Runs(Vec<Run>),
    /// Steps of runs.
    Steps(Vec<Step>),
    /// Posts in inboxes, in the order in which they arrived.
    Posts(Vec<Post>),
    /// Wake-ups, by time and id.
    Wakeups(Vec<Wakeup>),
    /// Events, by tree and number. Those about an item do not hold the item itself.
    Events(Vec<Event>),
    /// Records, with their texts.
    Records(Vec<Entity>),
    /// Budgets, by id.
    Budgets(Vec<Budget>),
    /// What agents have reserved, by agent and budget.
    Reservations(Vec<Reservation>),
    /// Sums of usage of all runs that have ended.
    UsageOfEnded(Vec<KeptUsage>),
    /// Sums of usage of runs that were removed.
    UsageOfRemoved(Vec<KeptUsage>),
}

/// A kind of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// Agents.
    Agent,
    /// Items of transcripts.
    Item,
    /// Runs.
    Run,
    /// Steps of runs.
    Step,
    /// Posts.
    Post,
    /// Wake-ups.
    Wakeup,
    /// Events.
    Event,
    /// Records.
    Record,
    /// Budgets.
    Budget,
    /// Reservations in budgets.
    Reservation,
    /// Sums of usage of ended runs.
    UsageOfEnded,
    /// Sums of usage of removed runs.
    UsageOfRemoved,
}

/// What an agent has reserved in a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The agent.
    pub agent: AgentId,
    /// The budget.
    pub budget: BudgetId,
    /// How much.
    pub amount: Amount,
}

/// A sum of usage, kept because the runs behind it may be gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptUsage {
    /// The owner of the runs.
    pub owner: Owner,
    /// The kind of their agents; empty where that is not known any more.
    pub kind: String,
    /// What they used in an hour of one model.
    pub spent: HourlyUsage,
}

impl RowKind {
    /// All kinds, each one behind those that it refers to.
    pub const ALL: [Self; 12] = [
        Self::Agent,
        Self::Item,
        Self::Run,
        Self::Step,
        Self::Post,
        Self::Wakeup,
        Self::Event,
        Self::Record,
        Self::Budget,
        Self::Reservation,
        Self::UsageOfEnded,
        Self::UsageOfRemoved,
    ];
}

impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agents",
            Self::Item => "items",
            Self::Run => "runs",
            Self::Step => "steps",
            Self::Post => "posts",
            Self::Wakeup => "wake-ups",
            Self::Event => "events",
            Self::Record => "records",
            Self::Budget => "budgets",
            Self::Reservation => "reservations",
            Self::UsageOfEnded => "sums of usage",
            Self::UsageOfRemoved => "sums of removed usage",
        })
    }
}

impl StoredRows {
    /// Which kind they are.
    #[must_use]
    pub const fn kind(&self) -> RowKind {
        match self {
            Self::Agents(_) => RowKind::Agent,
            Self::Items(_) => RowKind::Item,
            Self::Runs(_) => RowKind::Run,
            Self::Steps(_) => RowKind::Step,
            Self::Posts(_) => RowKind::Post,
            Self::Wakeups(_) => RowKind::Wakeup,
            Self::Events(_) => RowKind::Event,
            Self::Records(_) => RowKind::Record,
            Self::Budgets(_) => RowKind::Budget,
            Self::Reservations(_) => RowKind::Reservation,
            Self::UsageOfEnded(_) => RowKind::UsageOfEnded,
            Self::UsageOfRemoved(_) => RowKind::UsageOfRemoved,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        let len = match self {
            Self::Agents(rows) => rows.len(),
            Self::Items(rows) => rows.len(),
            Self::Runs(rows) => rows.len(),
            Self::Steps(rows) => rows.len(),
            Self::Posts(rows) => rows.len(),
            Self::Wakeups(rows) => rows.len(),
            Self::Events(rows) => rows.len(),
            Self::Records(rows) => rows.len(),
            Self::Budgets(rows) => rows.len(),
            Self::Reservations(rows) => rows.len(),
            Self::UsageOfEnded(rows) | Self::UsageOfRemoved(rows) => rows.len(),
        };
        u64::try_from(len).unwrap_or(u64::MAX)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows as they are written elsewhere: with raised epochs, with texts of before the rule that every database can
    /// store them, and without sums of nothing.
    pub(super) fn moved(mut self) -> Self {
        match &mut self {
            Self::Agents(agents) => {
                for agent in agents {
                    agent.epoch = agent.epoch.next(0);
                    agent.title = plain(std::mem::take(&mut agent.title));
                }
            }
            Self::Runs(runs) => runs.iter_mut().for_each(|run| run.error = run.error.take().map(plain)),
            Self::UsageOfEnded(sums) | Self::UsageOfRemoved(sums) => {
                sums.retain(|sum| sum.spent.tally != Tally::default());
            }
            _ => {}
        }
        self
    }
}
