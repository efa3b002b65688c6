//! What tells the nodes that share a store which agents are due.

use serde::{Deserialize, Serialize};

/// What tells the nodes that share a store which agents are due: the same for all of them, so that no agent works at two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DispatchBy {
    /// The database, and the nodes each other. Nothing else is to be run.
    #[default]
    Database,
    /// Restate, which calls a node for each agent.
    Restate,
}

impl DispatchBy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Database, Self::Restate];

    /// Its name in settings and in stores.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Restate => "restate",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }
}
