//! The kinds, and how many open runs use which version of them.

use std::{collections::BTreeMap, sync::Arc};

use entourage_store::{EntityQuery, Page, RunCount, RunQuery};
use entourage_types::{Agent, EntityKind, Kind, Owner, Scope, Time};

use super::{Client, Narrowed};
use crate::{
    Error, Result,
    kinds::{self, Finding, Severity},
};

/// How many versions of kinds are read at once, and at how many a page looks.
const VERSIONS: u32 = 100;
const VERSIONS_IN_ALL: usize = 300;

/// A version of a kind with which a run has started.
#[derive(Debug, Clone, PartialEq)]
pub struct KindVersion {
    /// The kind as it was.
    pub kind: Arc<Kind>,
    /// When a run first started with it.
    pub first_used: Time,
}

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

    /// The mistakes for which files of kinds and agencies are left out.
    #[must_use]
    pub fn kind_mistakes(&self) -> Vec<Finding> {
        self.engine.kinds().mistakes()
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

    /// A page of the versions of a kind with which runs have started, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn kind_versions(&self, name: &str, page: Page) -> Result<Narrowed<KindVersion>> {
        let (limit, mut after, mut looked) = (page.limit as usize, page.after, 0);
        // The engine owns all of them: with an owner, they are found in their order.
        let scope = Scope::from(&Owner::engine());
        let mut rows: Vec<KindVersion> = Vec::new();
        loop {
            let page = Page { after: after.clone(), limit: VERSIONS, newest_first: true, ..Page::default() };
            let query = EntityQuery { page, ..EntityQuery::of(EntityKind::KIND) };
            let found = self.engine.store().entities(&scope, query).await?;
            let Some(last) = found.last().map(|entity| entity.id.clone()) else {
                return Ok(Narrowed { rows, next: None });
            };
            looked += found.len();
            for entity in found {
                let kind: Option<Kind> = serde_json::from_str(&entity.body).ok();
                let Some(kind) = kind.filter(|kind| kind.name == name) else { continue };
                if rows.len() == limit {
                    let next = rows.last().map(|row| row.kind.version.clone());
                    return Ok(Narrowed { rows, next });
                }
                rows.push(KindVersion { kind: Arc::new(kind), first_used: entity.created });
            }
            if looked >= VERSIONS_IN_ALL {
                return Ok(Narrowed { rows, next: Some(last) });
            }
            after = Some(last);
        }
    }

    /// One version of a kind: the current one, or one with which a run has started.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn kind_version(&self, name: &str, version: &str) -> Result<Arc<Kind>> {
        let current = self.engine.kinds().get(name).filter(|kind| kind.version == version);
        let found = match current {
            Some(current) => Some(current),
            None => self.engine.version(version).await?.filter(|kind| kind.name == name),
        };
        found.ok_or_else(|| Error::not_found("version", format!("{version} of kind {name}")))
    }

    /// What is wrong with the text of a kind's file, and what would have no effect here. Changes nothing.
    #[must_use]
    pub fn check_kind_file(&self, file: &str, text: &str) -> Vec<Finding> {
        let (kind, mut findings) = kinds::parse(file, text);
        if let Some(kind) = kind {
            if let Err(why) = self.engine.check_kind(&kind) {
                findings.push(Finding {
                    file: file.to_owned(),
                    line: 0,
                    severity: Severity::Mistake,
                    text: why,
                });
            }
            let mut known = Arc::unwrap_or_clone(self.engine.kinds());
            let name = kind.name.clone();
            known.add(kind);
            let offered = self.engine.inner.toolsets.names();
            let tools: Vec<&str> = offered.iter().map(String::as_str).collect();
            findings.extend(known.check(&tools).into_iter().filter(|finding| finding.file == name));
        }
        findings
    }
}
