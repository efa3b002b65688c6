//! Which kinds there are, and who still works as which version of them.

use std::{collections::BTreeMap, sync::Arc};

use entourage_store::{Page, RunQuery};
use entourage_types::Kind;

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

/// Runs read at once.
const PAGE: u32 = 500;

impl Client {
    /// The kinds there are, and those that are gone and still at work, by name, each with how many of
    /// the caller's runs have not ended.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn kinds_in_use(&self) -> Result<Vec<InUse>> {
        let mut open: BTreeMap<String, u32> = BTreeMap::new();
        let mut after = None;
        loop {
            let page = Page { after, limit: PAGE, newest_first: false };
            let query = RunQuery { open: true, page, ..RunQuery::default() };
            let runs = self.house.store().runs(&self.scope, query).await?;
            runs.iter().for_each(|run| *open.entry(run.kind_version.clone()).or_default() += 1);
            after = runs.last().filter(|_| runs.len() == PAGE as usize).map(|last| last.id.to_string());
            if after.is_none() {
                break;
            }
        }
        let in_use = |kind: &Arc<Kind>, is_gone, open_runs| InUse {
            kind: Arc::clone(kind),
            is_gone,
            open_runs,
            earlier: vec![],
        };
        let mut kinds: BTreeMap<String, InUse> = BTreeMap::new();
        for kind in self.house.kinds().iter() {
            let now = open.remove(&kind.version).unwrap_or_default();
            kinds.insert(kind.name.clone(), in_use(kind, false, now));
        }
        for (version, runs) in open {
            let Some(kind) = self.house.version(&version).await? else { continue };
            match kinds.get_mut(&kind.name) {
                Some(known) => known.earlier.push((version, runs)),
                None => drop(kinds.insert(kind.name.clone(), in_use(&kind, true, runs))),
            }
        }
        Ok(kinds.into_values().collect())
    }
}
