//! What was used, added up.

use std::collections::HashMap;

use entourage_store::{RunQuery, Sums, UsageQuery};
use entourage_types::{AgentId, Tally, UsageBy, UsageRow};

use super::Client;
use crate::{Error, Result};

/// What a tree used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeUsage {
    /// How many runs it has.
    pub runs: u64,
    /// What the runs of each agent used, of those that used something.
    pub by_agent: HashMap<AgentId, Tally>,
}

impl TreeUsage {
    /// The sum of all agents.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.by_agent.values().copied().sum()
    }
}

impl Client {
    /// What a tree used, however many runs it has.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tree_usage(&self, root: AgentId) -> Result<TreeUsage> {
        let store = self.engine.store();
        let query = UsageQuery { root: Some(root), by: vec![UsageBy::Agent], ..UsageQuery::default() };
        let sums = store.usage(&self.scope, query).await?;
        let by_agent = sums.into_iter().filter_map(|row| Some((row.agent?, row.tally))).collect();
        let query = RunQuery { root: Some(root), ..RunQuery::default() };
        let counts = store.count_runs(&self.scope, query).await?;
        Ok(TreeUsage { runs: counts.iter().map(|count| u64::from(count.runs)).sum(), by_agent })
    }

    /// What the owner's model calls used: exact across crashes, retries and pruning. Runs in progress count
    /// up to their last commit.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an agent or a run that is asked for by id;
    /// [`Error::Invalid`] when the days are the wrong way round, or there would be too many sums.
    pub async fn usage(&self, query: UsageQuery) -> Result<Vec<UsageRow>> {
        if let (Some(from), Some(to)) = (query.from, query.to)
            && from > to
        {
            return Err(Error::Invalid(format!("`from` ({from}) is after `to` ({to}); swap them")));
        }
        for agent in [query.root, query.agent, query.under].into_iter().flatten() {
            self.agent(agent).await?;
        }
        if let Some(run) = query.run {
            self.run(run).await?;
        }
        let sums = self.engine.store().usage(&self.scope, query).await?;
        if sums.len() > Sums::MOST {
            return Err(Error::Invalid(format!(
                "the report would have more than {} rows: ask for fewer days, for one tree, or group by less",
                Sums::MOST
            )));
        }
        Ok(sums)
    }
}
