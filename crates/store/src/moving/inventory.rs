//! What a database holds, in so few words that two can be compared: counts, last numbers and digests.

use std::{
    collections::BTreeMap,
    fmt::{self, Debug, Write as _},
};

use entourage_types::{AgentId, Sha256};
use sha2::Digest as _;

use super::rows::{RowKind, StoredRows};

/// What a database holds: how many rows of each kind, a digest of each transcript, of the events of each tree and of all
/// other kinds, and the number of each tree's last event. Its size is that of a few words for each agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    counts: BTreeMap<RowKind, u64>,
    digests: BTreeMap<RowKind, Sha256>,
    transcripts: BTreeMap<AgentId, Sha256>,
    events: BTreeMap<AgentId, Sha256>,
    last_events: BTreeMap<AgentId, u64>,
}

/// The first difference between two databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// They have not the same number of rows of a kind.
    Count {
        /// The kind.
        kind: RowKind,
        /// How many were read.
        read: u64,
        /// How many were written.
        written: u64,
    },
    /// The items of an agent are not the same.
    Transcript {
        /// The agent.
        agent: AgentId,
    },
    /// The last event of a tree has not the same number.
    LastEvent {
        /// The root of the tree.
        root: AgentId,
        /// The number that was read; 0 if it has no event.
        read: u64,
        /// The number that was written.
        written: u64,
    },
    /// The events of a tree are not the same.
    Events {
        /// The root of the tree.
        root: AgentId,
    },
    /// As many rows of a kind are there, and they are not the same, or in another order.
    Rows {
        /// The kind.
        kind: RowKind,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { kind, read, written } => {
                write!(f, "{read} {kind} were read, and {written} are there")
            }
            Self::Transcript { agent } => write!(f, "the transcript of agent {agent} is not the same"),
            Self::LastEvent { root, read, written } => {
                write!(f, "the last event of the tree of agent {root} was {read}, and is {written}")
            }
            Self::Events { root } => write!(f, "the events of the tree of agent {root} are not the same"),
            Self::Rows { kind } => write!(f, "the {kind} are not the same"),
        }
    }
}

impl Inventory {
    /// Adds a page of rows, behind those before it.
    pub fn add(&mut self, page: &StoredRows) {
        *self.counts.entry(page.kind()).or_default() += page.len();
        match page {
            StoredRows::Items(items) => {
                for item in items {
                    chain(self.transcripts.entry(item.agent), item);
                }
            }
            StoredRows::Events(events) => {
                for event in events {
                    chain(self.events.entry(event.root), event);
                    self.last_events.insert(event.root, event.seq);
                }
            }
            StoredRows::Agents(agents) => {
                for agent in agents.iter().filter(|agent| agent.id == agent.root) {
                    self.last_events.insert(agent.root, 0);
                }
                self.chain_all(page.kind(), agents);
            }
            StoredRows::Runs(rows) => self.chain_all(page.kind(), rows),
            StoredRows::Steps(rows) => self.chain_all(page.kind(), rows),
            StoredRows::Posts(rows) => self.chain_all(page.kind(), rows),
            StoredRows::Wakeups(rows) => self.chain_all(page.kind(), rows),
            StoredRows::Records(rows) => self.chain_all(page.kind(), rows),
            StoredRows::Budgets(rows) => self.chain_all(page.kind(), rows),
            StoredRows::Reservations(rows) => self.chain_all(page.kind(), rows),
            StoredRows::UsageOfEnded(rows) | StoredRows::UsageOfRemoved(rows) => {
                self.chain_all(page.kind(), rows);
            }
        }
    }

    /// Sets the number of a tree's last event, where a database keeps it beside the events.
    pub fn set_last_event(&mut self, root: AgentId, last: u64) {
        self.last_events.insert(root, last);
    }

    /// How many rows of a kind there are.
    #[must_use]
    pub fn rows(&self, kind: RowKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// How many rows there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The first difference from what was written elsewhere.
    #[must_use]
    pub fn difference(&self, written: &Self) -> Option<Difference> {
        let count = |kind: RowKind| {
            let (read, written) = (self.rows(kind), written.rows(kind));
            (read != written).then_some(Difference::Count { kind, read, written })
        };
        RowKind::ALL
            .into_iter()
            .find_map(count)
            .or_else(|| {
                let agent = other_key(&self.transcripts, &written.transcripts)?;
                Some(Difference::Transcript { agent })
            })
            .or_else(|| {
                let root = other_key(&self.last_events, &written.last_events)?;
                let of = |inventory: &Self| inventory.last_events.get(&root).copied().unwrap_or_default();
                Some(Difference::LastEvent { root, read: of(self), written: of(written) })
            })
            .or_else(|| Some(Difference::Events { root: other_key(&self.events, &written.events)? }))
            .or_else(|| Some(Difference::Rows { kind: other_key(&self.digests, &written.digests)? }))
    }

    fn chain_all<T: Debug>(&mut self, kind: RowKind, rows: &[T]) {
        for row in rows {
            chain(self.digests.entry(kind), row);
        }
    }
}

/// The first key whose value is not the same in both, or is in one of them alone.
fn other_key<K: Ord + Copy, V: PartialEq>(one: &BTreeMap<K, V>, other: &BTreeMap<K, V>) -> Option<K> {
    let is_other = |key: &&K| one.get(key) != other.get(key);
    one.keys().chain(other.keys()).filter(is_other).min().copied()
}

/// Puts a row behind those that a digest is of. What `Debug` writes has every field, also those that no API shows.
fn chain<K: Ord>(digest: std::collections::btree_map::Entry<'_, K, Sha256>, row: &impl Debug) {
    let digest = digest.or_insert(Sha256::from_bytes([0; 32]));
    let mut hasher = Hasher(sha2::Sha256::new_with_prefix(digest.as_bytes()));
    // A hasher takes everything.
    let _ = write!(hasher, "{row:?}");
    *digest = Sha256::from_bytes(hasher.0.finalize().into());
}

/// Takes text into a digest.
struct Hasher(sha2::Sha256);

impl fmt::Write for Hasher {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}
