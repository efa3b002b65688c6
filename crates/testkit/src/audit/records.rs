//! Records: a version counts the writes of its record, so that a write that depends on a version is lost to no other.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::{EntityQuery, Page, Result, Store, Write};
use entourage_types::{CommitId, EntityKind, Scope};

use super::{Found, Invariant::OneWriter};
use crate::Fact;

/// How often each record was written since it was created.
#[derive(Default)]
pub(super) struct Writes(BTreeMap<(&'static str, String), u64>);

impl Writes {
    /// Counts the writes that a store accepted. A commit that is repeated under its id counts once.
    pub(super) fn of(facts: &[Fact]) -> Self {
        let (mut writes, mut known) = (Self::default(), BTreeSet::<CommitId>::new());
        for fact in facts {
            let Fact::Committed(commit) = fact else { continue };
            if known.insert(commit.id) {
                commit.writes.iter().for_each(|write| writes.see(write));
            }
        }
        writes
    }

    fn see(&mut self, write: &Write) {
        match write {
            Write::Record(record, _) => {
                *self.0.entry((record.kind.as_str(), record.id.clone())).or_default() += 1
            }
            Write::PruneEntity(kind, id) => drop(self.0.remove(&(kind.as_str(), id.clone()))),
            _ => {}
        }
    }
}

/// The versions of all records.
pub(super) struct Versions(BTreeMap<(&'static str, String), u64>);

impl Versions {
    pub(super) async fn read(store: &dyn Store, writes: &Writes) -> Result<Self> {
        let mut versions = BTreeMap::new();
        for kind in writes.0.keys().map(|(kind, _)| *kind).collect::<BTreeSet<_>>() {
            let Ok(noun) = kind.parse::<EntityKind>();
            let query = EntityQuery { page: Page::all(), ..EntityQuery::of(noun) };
            let records = store.entities(&Scope::All, query).await?;
            versions.extend(records.into_iter().map(|record| ((kind, record.id), record.version)));
        }
        Ok(Self(versions))
    }

    /// Compares the versions with the writes. Records that are gone went with their agent or tree.
    pub(super) fn check(&self, writes: &Writes, found: &mut Found) {
        for (record, written) in &writes.0 {
            let Some(version) = self.0.get(record) else { continue };
            found.must(version == written, OneWriter, None, || {
                let (kind, id) = record;
                format!("the {kind} {id} has version {version}; it was written {written} times")
            });
        }
    }
}
