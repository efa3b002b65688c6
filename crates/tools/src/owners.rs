//! The owners whose agents may use tools with the operator's files and credentials.

use std::collections::BTreeSet;

use entourage_types::Owner;
use schemars::JsonSchema;
use serde::Deserialize;

/// The owners whose agents may use something: a list, in which `*` stands for all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "Vec<String>")]
#[schemars(with = "Vec<String>")]
pub enum Owners {
    /// All owners.
    All,
    /// These owners.
    Only(BTreeSet<Owner>),
}

impl Owners {
    /// Returns the operator's owners: `local`, for work at the machine itself, and the operator's name if
    /// given.
    #[must_use]
    pub fn operator(named: Option<&str>) -> Self {
        Self::Only(named.map(Owner::new).into_iter().chain([Owner::local()]).collect())
    }

    /// Whether this owner is included.
    #[must_use]
    pub fn include(&self, owner: &Owner) -> bool {
        match self {
            Self::All => true,
            Self::Only(owners) => owners.contains(owner),
        }
    }
}

impl From<Vec<String>> for Owners {
    fn from(names: Vec<String>) -> Self {
        if names.iter().any(|name| name == "*") {
            return Self::All;
        }
        Self::Only(names.into_iter().map(Owner::new).collect())
    }
}
