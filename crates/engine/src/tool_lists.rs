//! The lists of tools that models were offered, stored so that their requests can be rebuilt: tools of MCP
//! servers come and go.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use entourage_store::{Result, Write};
use entourage_types::{Columns, Entity, EntityKind, Owner, Sha256, Time};

use crate::toolset::Toolset;

/// The lists that are known to be in the store.
#[derive(Default)]
pub(crate) struct ToolLists(Mutex<HashSet<Sha256>>);

impl ToolLists {
    /// Returns the write that stores the tools of an offer; none if they are known to be in the store.
    pub(crate) fn keep(&self, offer: &Toolset, at: Time) -> Result<Option<Write>> {
        if self.known().contains(&offer.sha256) {
            return Ok(None);
        }
        let columns = Columns {
            id: offer.sha256.to_string(),
            owner: Owner::engine(),
            root: None,
            parent: None,
            status: "kept",
            created: at,
            updated: at,
            name: None,
            text: None,
        };
        let body = serde_json::to_string(&offer.specs)?;
        Ok(Some(Write::entity(columns.entity(EntityKind::TOOL_LIST, body))))
    }

    /// Notes that these lists are in the store.
    pub(crate) fn kept(&self, lists: impl IntoIterator<Item = Sha256>) {
        self.known().extend(lists);
    }

    /// Returns the digest of the list that a write stores, if it stores one.
    pub(crate) fn in_write(write: &Write) -> Option<Sha256> {
        match write {
            Write::Record(Entity { kind: EntityKind::TOOL_LIST, id, .. }, _) => id.parse().ok(),
            _ => None,
        }
    }

    fn known(&self) -> MutexGuard<'_, HashSet<Sha256>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
