//! The kinds, and how many open runs use which version of them.

use std::{collections::BTreeMap, sync::Arc};

use entourage_store::{RunCount, RunQuery};
use entourage_types::{Agent, Kind};

use super::Client;
use crate::Result;

/// A kind, and the number of open runs of each of its versions.
#[derive(Debug, Clone, PartialEq)]
pub struct KindUsage {
    /// The current kind; if it was removed, a version of it that has open runs.
    pub kind: Arc<Kind>,
    /// Whether it was removed.
    pub is_gone: bool,
    /// The number of open runs of this version.
    pub open_runs: u32,
    /// The other versions, each with its number of open runs.
    pub earlier: Vec<(String, u32)>,
}

impl Client {
    /// An agent's kind, in the version of its last run.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn kind_of(&self, agent: &Agent) -> Result<Arc<Kind>> {
        let last = self.engine.last_run(agent).await?;
        Ok(self.engine.kind_of(agent, last.as_ref()).await?)
    }

    /// All kinds, and removed ones that still have open runs, by name, each with the number of the caller's
    /// open runs.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn kinds_in_use(&self) -> Result<Vec<KindUsage>> {
        let open = RunQuery { open: true, ..RunQuery::default() };
        let open = self.engine.store().count_runs(&self.scope, open).await?;
        let in_use = |kind: &Arc<Kind>, is_gone, open_runs| KindUsage {
            kind: Arc::clone(kind),
            is_gone,
            open_runs,
            earlier: vec![],
        };
        let mut kinds: BTreeMap<String, KindUsage> = BTreeMap::new();
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
