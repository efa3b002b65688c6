//! Which kinds there are, and who still works as which version of them.

use std::{collections::BTreeMap, sync::Arc};

use entourage_store::{Page, RunCount, RunQuery};
use entourage_types::{Agent, Kind};

use super::Client;
use crate::Result;

/// A kind, and how many runs of each of its versions have not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct InUse {
    /// The kind as it is now; as it last was, where it is gone.
    pub kind: Arc<Kind>,
    /// Whether it is gone.
    pub is_gone: bool,
    /// How many runs of this version have not ended.
    pub open_runs: u32,
    /// Earlier versions, each with its runs that have not ended.
    pub earlier: Vec<(String, u32)>,
}

impl Client {
    /// The kind that an agent is of, in the version that its last run works with.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn kind_of(&self, agent: &Agent) -> Result<Arc<Kind>> {
        let page = Page { limit: 1, newest_first: true, ..Page::default() };
        let query = RunQuery { agent: Some(agent.id), page, ..RunQuery::default() };
        let last = self.engine.store().runs(&self.scope, query).await?;
        Ok(self.engine.kind_of(agent, last.first()).await?)
    }

    /// The kinds there are, and those that are gone and still at work, by name, each with how many of
    /// the caller's runs have not ended.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn kinds_in_use(&self) -> Result<Vec<InUse>> {
        let open = RunQuery { open: true, ..RunQuery::default() };
        let open = self.engine.store().count_runs(&self.scope, open).await?;
        let in_use = |kind: &Arc<Kind>, is_gone, open_runs| InUse {
            kind: Arc::clone(kind),
            is_gone,
            open_runs,
            earlier: vec![],
        };
        let mut kinds: BTreeMap<String, InUse> = BTreeMap::new();
        for kind in self.engine.kinds().iter() {
            kinds.insert(kind.name.clone(), in_use(kind, false, 0));
        }
        for RunCount { kind: name, version, runs } in open {
            match kinds.get_mut(&name) {
                Some(known) if known.kind.version == version => known.open_runs = runs,
                Some(known) => known.earlier.push((version, runs)),
                None => {
                    let Some(kind) = self.engine.version(&version).await? else { continue };
                    kinds.insert(name, in_use(&kind, true, runs));
                }
            }
        }
        Ok(kinds.into_values().collect())
    }
}
