//! Keys of rows that are numbered within an agent, such as the items of a transcript and the events of a tree.
//!
//! A key is one integer: the agent's row number in the upper half, the row's own number in the lower. So the
//! rows of an agent lie together, and appending at the table's end splits no page.

use entourage_types::AgentId;
use rusqlite::Connection;

use crate::{agents, fault::Result};

/// The keys that belong to one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyRange(i64);

impl KeyRange {
    /// The keys of the agent with this row number.
    pub(crate) const fn of_row(row: i64) -> Self {
        Self(row)
    }

    /// The agent's row number.
    pub(crate) const fn row(self) -> i64 {
        self.0
    }

    /// Returns the keys of this agent; none if there is no such agent.
    pub(crate) fn of(connection: &Connection, agent: AgentId) -> Result<Option<Self>> {
        Ok(agents::row(connection, agent)?.map(Self))
    }

    /// Returns the key of the row with this number. A number that is too large counts as the largest one.
    pub(crate) fn key(self, number: u64) -> i64 {
        self.0 << u32::BITS | i64::from(u32::try_from(number).unwrap_or(u32::MAX))
    }
}

/// Returns the number of the row with this key.
pub(crate) fn number(key: i64) -> u64 {
    u64::from(key as u32)
}
