//! Sums of usage. A store finds the rows; this module adds them up, in the same way for every store.

use std::collections::BTreeMap;

use entourage_types::{AgentId, Day, HourlyUsage, Owner, RunId, Tally, Time, UsageBy, UsageRow};

/// Which usage to add up, and how to group it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageQuery {
    /// From this day on.
    pub from: Option<Day>,
    /// Up to and including this day.
    pub to: Option<Day>,
    /// Of this tree.
    pub root: Option<AgentId>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Of this agent and all agents below it.
    pub under: Option<AgentId>,
    /// Of this run.
    pub run: Option<RunId>,
    /// Of agents of this kind.
    pub kind: Option<String>,
    /// Of this model.
    pub model: Option<String>,
    /// The grouping; one sum over everything if it is empty.
    pub by: Vec<UsageBy>,
}

impl UsageQuery {
    /// Whether the query can cover runs that were removed: what is stored of their usage names neither run,
    /// agent nor tree.
    #[must_use]
    pub const fn covers_removed(&self) -> bool {
        self.root.is_none() && self.agent.is_none() && self.under.is_none() && self.run.is_none()
    }

    /// Whether the query needs the runs themselves, because it restricts to trees, agents or runs, or groups
    /// by them. A store can maintain all other sums as it counts usage.
    #[must_use]
    pub fn reads_runs(&self) -> bool {
        let of_runs = |by: &UsageBy| matches!(by, UsageBy::Tree | UsageBy::Agent | UsageBy::Run);
        !self.covers_removed() || self.by.iter().any(of_runs)
    }
}

/// What a usage is attributed to. A field that is not known, or not asked for, is none.
#[derive(Debug, Clone)]
pub struct SpentBy {
    /// The owner.
    pub owner: Owner,
    /// The kind of agent.
    pub kind: Option<String>,
    /// The tree.
    pub tree: Option<AgentId>,
    /// The agent.
    pub agent: Option<AgentId>,
    /// The run.
    pub run: Option<RunId>,
}

type Key = (
    Option<Day>,
    Option<Time>,
    Option<String>,
    Option<Owner>,
    Option<String>,
    Option<AgentId>,
    Option<AgentId>,
    Option<RunId>,
);

/// Sums in progress.
#[derive(Debug)]
pub struct Sums {
    query: UsageQuery,
    sums: BTreeMap<Key, Tally>,
}

impl Sums {
    /// The maximum number of sums in an answer.
    pub const MOST: usize = 10_000;

    /// Whether there are more sums than an answer may have; a store may then stop adding.
    #[must_use]
    pub fn are_too_many(&self) -> bool {
        self.sums.len() > Self::MOST
    }

    /// Starts the sums of a query, without any usage.
    #[must_use]
    pub fn new(query: UsageQuery) -> Self {
        let mut sums = BTreeMap::new();
        // The one sum over everything exists even if there is no usage.
        if query.by.is_empty() {
            sums.insert(Key::default(), Tally::default());
        }
        Self { query, sums }
    }

    /// Adds what a spender spent on the days of the query.
    pub fn add(&mut self, spender: &SpentBy, spent: &[HourlyUsage]) {
        let Self { query, sums } = self;
        if query.kind.is_some() && query.kind != spender.kind {
            return;
        }
        let asked = |spent: &&HourlyUsage| {
            query.model.as_ref().is_none_or(|model| *model == spent.model)
                && query.from.is_none_or(|from| from <= spent.day)
                && query.to.is_none_or(|to| spent.day <= to)
        };
        for spent in spent.iter().filter(asked) {
            let mut key = Key::default();
            for by in &query.by {
                match by {
                    UsageBy::Day => key.0 = Some(spent.day),
                    UsageBy::Hour => key.1 = spent.hour.map(|hour| hour.begins(spent.day)),
                    UsageBy::Model => key.2 = Some(spent.model.clone()),
                    UsageBy::Owner => key.3 = Some(spender.owner.clone()),
                    UsageBy::Kind => key.4.clone_from(&spender.kind),
                    UsageBy::Tree => key.5 = spender.tree,
                    UsageBy::Agent => key.6 = spender.agent,
                    UsageBy::Run => key.7 = spender.run,
                }
            }
            *sums.entry(key).or_default() += spent.tally;
        }
    }

    /// Returns the sums, in the order of day, hour, model, owner, kind, tree, agent and run.
    #[must_use]
    pub fn rows(self) -> Vec<UsageRow> {
        let row = |((day, hour, model, owner, kind, tree, agent, run), tally)| UsageRow {
            day,
            hour,
            model,
            owner,
            kind,
            tree,
            agent,
            run,
            tally,
        };
        self.sums.into_iter().map(row).collect()
    }
}
