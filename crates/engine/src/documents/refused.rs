//! What a commit of a goal, a project or a document is refused for, and what its author does then.

use entourage_store::Error as StoreError;
use entourage_types::EntityKind;

use crate::Error;

/// What the author of a refused commit does.
pub(crate) enum Refused {
    /// Reads again and commits again: another writer came first, and this change may still be possible.
    Again,
    /// Gives up, and says why.
    For(Error),
}

impl Refused {
    /// What a store's refusal of a commit means that gives something this name.
    pub(crate) fn of(error: StoreError, name: &str) -> Self {
        match error {
            StoreError::OtherVersion { kind: EntityKind::COUNTER, .. } => Self::Again,
            // With version 0 it was to be new: reading it again would not change that it exists.
            StoreError::OtherVersion {
                kind: EntityKind::DOCUMENT | EntityKind::PROJECT | EntityKind::GOAL,
                expected: 1..,
                ..
            } => Self::Again,
            StoreError::NameTaken { kind, holder } => {
                Self::For(Error::NameInUse { noun: kind.as_str(), name: name.to_owned(), holder })
            }
            StoreError::NoParent { kind, id } => Self::For(Error::not_found(kind.as_str(), id)),
            error => Self::For(error.into()),
        }
    }
}
