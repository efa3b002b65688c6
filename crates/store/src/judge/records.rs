//! What the existing records forbid a commit to write: a record of another owner, one below a record that does not
//! exist, and a name that another record has.

use entourage_types::{Entity, EntityKind, Parent};

use super::{Facts, Judge, Result, read};
use crate::{Error, Write};

/// What a commit does to a record.
enum Change<'a> {
    /// It writes it.
    Written(&'a Entity),
    /// It removes it.
    Removed,
}

/// Returns what the last of these writes about a record does to it.
fn change<'a>(writes: &'a [Write], kind: EntityKind, id: &str) -> Option<Change<'a>> {
    writes.iter().rev().find_map(|write| match write {
        Write::Record(record, _) if record.kind == kind && record.id == id => Some(Change::Written(record)),
        Write::PruneEntity(of, removed) if *of == kind && removed == id => Some(Change::Removed),
        _ => None,
    })
}

impl<F: Facts> Judge<'_, F> {
    /// Checks the write of a record; `before` are the writes before it.
    pub(super) fn check_record(&mut self, record: &Entity, before: &[Write]) -> Result<(), F> {
        let is_theirs = |other: &Entity| {
            (other.kind, &other.id) == (record.kind, &record.id) && other.owner != record.owner
        };
        let state = read(self.facts.record_state(record.kind, &record.id))?;
        if state.is_some_and(|state| state.owner != record.owner)
            || before.iter().any(|write| matches!(write, Write::Record(other, _) if is_theirs(other)))
        {
            return Err(Error::Exists { kind: record.kind, id: record.id.clone() }.into());
        }
        if let Some(Parent::Record(kind, id)) = &record.parent {
            let exists = match change(before, *kind, id) {
                Some(Change::Written(parent)) => parent.owner == record.owner,
                Some(Change::Removed) => false,
                None => {
                    read(self.facts.record_state(*kind, id))?.is_some_and(|state| state.owner == record.owner)
                }
            };
            if !exists {
                return Err(Error::NoParent { kind: *kind, id: id.clone() }.into());
            }
        }
        match &record.name {
            Some(name) => self.check_name(record, name, before),
            None => Ok(()),
        }
    }

    /// Refuses a name that another record has by then. Records of one commit take names in the order of its writes:
    /// one may take the name that another gives up before.
    fn check_name(&mut self, record: &Entity, name: &str, before: &[Write]) -> Result<(), F> {
        let has_it = |other: &Entity| {
            (other.kind, &other.owner) == (record.kind, &record.owner) && other.name.as_deref() == Some(name)
        };
        let stored = read(self.facts.holder_of_name(record.kind, &record.owner, name))?;
        let still = stored.filter(|id| {
            change(before, record.kind, id)
                .is_none_or(|change| matches!(change, Change::Written(row) if has_it(row)))
        });
        let written = before.iter().filter_map(|write| match write {
            Write::Record(other, _) if has_it(other) => Some(other),
            _ => None,
        });
        let mut written = written.filter(|other| {
            matches!(change(before, other.kind, &other.id), Some(Change::Written(last)) if has_it(last))
        });
        let holder = still
            .filter(|id| *id != record.id)
            .or_else(|| written.find(|other| other.id != record.id).map(|other| other.id.clone()));
        match holder {
            Some(holder) => Err(Error::NameTaken { kind: record.kind, holder }.into()),
            None => Ok(()),
        }
    }
}
