//! What was used, added up.

use entourage_store::UsageQuery;
use entourage_types::UsageRow;

use super::Client;
use crate::{Error, Result};

/// The most sums that one answer holds.
const MOST: usize = 10_000;

impl Client {
    /// What the owner's model calls used: exact, through crashes, retries and the removal of what
    /// is old. What is under way counts up to its last commit.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an agent or a run that is asked for by id;
    /// [`Error::Invalid`] when the days are the wrong way round, or there would be too many sums.
    pub async fn usage(&self, query: UsageQuery) -> Result<Vec<UsageRow>> {
        if let (Some(from), Some(to)) = (query.from, query.to)
            && from > to
        {
            return Err(Error::Invalid(format!("from {from} to {to} there is no day: swap them")));
        }
        for agent in [query.root, query.agent].into_iter().flatten() {
            self.agent(agent).await?;
        }
        if let Some(run) = query.run {
            self.run(run).await?;
        }
        let sums = self.house.store().usage(&self.scope, query).await?;
        if sums.len() > MOST {
            return Err(Error::Invalid(format!(
                "there are {} sums, more than {MOST}: ask for fewer days, for one tree, or add up by less",
                sums.len()
            )));
        }
        Ok(sums)
    }
}
