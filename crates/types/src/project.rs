//! A project: documents that belong together, and the chats about them.

use serde::{Deserialize, Serialize};

use crate::{Columns, EntityKind, Owner, Parent, ProjectId, Record, Time, UniqueName, status::words};

/// A project: documents that belong together, and the chats about them (S5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// The user that owns it.
    pub owner: Owner,
    /// Its number among the projects of its owner, for surfaces that want integers: given once and never again.
    pub number: u64,
    /// Its name: no two projects of an owner have the same.
    pub name: String,
    /// What it is about; may be empty.
    pub description: String,
    /// When it was created.
    pub created: Time,
    /// When its name or description last changed.
    pub updated: Time,
}

words! {
    /// The status of what is kept until a person deletes it.
    KeptStatus, "status" {
        /// It is there.
        Kept => "kept",
    }
}

impl Project {
    /// The counter that gives projects their numbers.
    pub const COUNTER: &'static str = "projects";

    /// It, as what its documents and chats belong to.
    #[must_use]
    pub fn as_parent(id: ProjectId) -> Parent {
        Parent::record::<Self>(id)
    }
}

impl Record for Project {
    const KIND: EntityKind = EntityKind::PROJECT;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: None,
            parent: None,
            status: KeptStatus::Kept.as_str(),
            created: self.created,
            updated: self.updated,
            name: Some(UniqueName::of_owner(&self.name)),
            text: None,
        }
    }
}
