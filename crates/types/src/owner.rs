//! Who owns a row, and on whose behalf it is read.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The user that owns a row: the subject of a token, or `local` on a loopback engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    /// An owner by name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The owner of everything on an engine without authentication.
    #[must_use]
    pub fn local() -> Self {
        Self::new("local")
    }

    /// Whether a token names it: it is neither `local` nor the engine.
    #[must_use]
    pub fn is_of_a_token(&self) -> bool {
        !self.0.is_empty() && self.0 != "local"
    }

    /// The engine, as owner of its own records, which belong to no user. No token can name it.
    #[must_use]
    pub fn engine() -> Self {
        Self::new("")
    }

    /// The name, as stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// On whose behalf a read happens. A row of another owner reads as if it did not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// One owner's rows only: every request of a person uses this.
    Owner(Owner),
    /// All rows: activations, dispatch and maintenance of the engine use this.
    All,
}

impl Scope {
    /// The owner, if the scope is that of one owner.
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Owner(owner) => Some(owner),
            Self::All => None,
        }
    }

    /// Whether the scope includes rows of `owner`.
    #[must_use]
    pub fn sees(&self, owner: &Owner) -> bool {
        self.owner().is_none_or(|own| own == owner)
    }
}

impl From<&Owner> for Scope {
    fn from(owner: &Owner) -> Self {
        Self::Owner(owner.clone())
    }
}
