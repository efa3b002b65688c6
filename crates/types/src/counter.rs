//! Integer ids, where a surface wants integers: one counter for each owner and name.

use serde::{Deserialize, Serialize};

use crate::{Columns, EntityKind, Owner, Record, Time, status::words};

/// The last number given under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// The user whose ids it counts.
    pub owner: Owner,
    /// What it counts.
    pub name: String,
    /// The last number given, the first being 1.
    pub last: u64,
    /// When that was.
    pub updated: Time,
}

impl Counter {
    /// The id of the record. A name has no slash, so that no two counters share an id.
    #[must_use]
    pub fn id_of(owner: &Owner, name: &str) -> String {
        format!("{name}/{}", owner.as_str())
    }
}

words! {
    /// The status of a counter: always the same.
    CounterStatus, "status of a counter" {
        /// It gives numbers.
        Counting => "counting",
    }
}

impl Record for Counter {
    const KIND: EntityKind = EntityKind::COUNTER;
    type Status = CounterStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: Self::id_of(&self.owner, &self.name),
            owner: self.owner.clone(),
            root: None,
            parent: None,
            status: CounterStatus::Counting.as_str(),
            created: self.updated,
            updated: self.updated,
            name: None,
            text: None,
        }
    }
}
