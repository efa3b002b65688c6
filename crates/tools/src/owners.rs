//! Whose agents may use what the operator has set up with files and credentials of their own.

use std::collections::BTreeSet;

use entourage_types::Owner;
use schemars::JsonSchema;
use serde::Deserialize;

/// Whose agents may use something: a list of owners, in which `*` stands for all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "Vec<String>")]
#[schemars(with = "Vec<String>")]
pub enum Owners {
    /// Everybody's.
    All,
    /// Those of these owners.
    Only(BTreeSet<Owner>),
}

impl Owners {
    /// The operator's alone: those of whoever works at the machine, and of the one who is named so.
    #[must_use]
    pub fn operator(named: Option<&str>) -> Self {
        Self::Only(named.map(Owner::new).into_iter().chain([Owner::local()]).collect())
    }

    /// Whether this owner's agents are among them.
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
