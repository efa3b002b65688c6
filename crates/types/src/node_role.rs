//! What a node does, of several that share a store.

use serde::{Deserialize, Serialize};

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeRole {
    /// Both of the others.
    #[default]
    All,
    /// It answers requests, and works for no agent.
    Api,
    /// It works for agents.
    Worker,
    /// It works for the agents of one command. Not a setting.
    #[serde(skip_deserializing)]
    Visitor,
}

impl NodeRole {
    /// The roles that people choose from.
    pub const ALL: [Self; 3] = [Self::All, Self::Api, Self::Worker];

    /// Its name in settings and in stores.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Api => "api",
            Self::Worker => "worker",
            Self::Visitor => "visitor",
        }
    }

    /// The role of this name, also one that is no setting.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Visitor]).find(|role| role.name() == name)
    }

    /// Whether such a node works for whatever agent has something due.
    #[must_use]
    pub const fn serves_all(self) -> bool {
        matches!(self, Self::All | Self::Worker)
    }

    /// Whether agents work at such a node.
    #[must_use]
    pub const fn works(self) -> bool {
        !matches!(self, Self::Api)
    }

    /// Whether such a node answers requests.
    #[must_use]
    pub const fn answers(self) -> bool {
        matches!(self, Self::All | Self::Api)
    }
}
