//! What a record belongs to.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{AgentId, EntityKind, Record};

/// What a record belongs to: an agent, or another record, whichever noun that is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Parent {
    /// An agent.
    Agent(AgentId),
    /// The record of this noun with this id.
    Record(EntityKind, String),
}

impl Parent {
    /// The record of this type with this id.
    #[must_use]
    pub fn record<R: Record>(id: impl ToString) -> Self {
        Self::Record(R::KIND, id.to_string())
    }

    /// The agent, if it is one.
    #[must_use]
    pub const fn agent(&self) -> Option<AgentId> {
        match self {
            Self::Agent(agent) => Some(*agent),
            Self::Record(..) => None,
        }
    }
}

impl From<AgentId> for Parent {
    fn from(agent: AgentId) -> Self {
        Self::Agent(agent)
    }
}

/// As stored: the agent's id, or the noun and the record's id. No agent's id and no noun has a slash.
impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::Record(kind, id) => write!(f, "{}/{id}", kind.as_str()),
        }
    }
}

impl FromStr for Parent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((kind, id)) = text.split_once('/') {
            let Ok(kind) = kind.parse();
            return Ok(Self::Record(kind, id.to_owned()));
        }
        text.parse().map(Self::Agent).map_err(|error: crate::ParseIdError| error.to_string())
    }
}

impl Serialize for Parent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Parent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_reads_back_from_its_text() {
        for parent in
            [Parent::from(AgentId::new()), Parent::Record(EntityKind::NOTE, "an id / of any sort".to_owned())]
        {
            assert_eq!(parent.to_string().parse(), Ok(parent));
        }
        assert!("nobody".parse::<Parent>().is_err());
    }
}
