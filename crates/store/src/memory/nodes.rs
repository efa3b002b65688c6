//! Nodes in memory, for tests of what several nodes do.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use entourage_types::{AgentId, DatabaseId, NodeId, Scope, Time, Wakeup, WakeupId};

use super::MemoryStore;
use crate::{Alive, Held, LiveNode, NODE_LEASE, NodeInfo, Nodes, Result, Store};

/// A node of a [`MemoryStore`], on a clock that all its nodes share.
#[derive(Clone)]
pub struct MemoryNodes {
    id: NodeId,
    database: DatabaseId,
    clock: Arc<dyn Fn() -> Time + Send + Sync>,
    rows: Arc<Mutex<NodeRows>>,
    store: MemoryStore,
}

#[derive(Default)]
struct NodeRows {
    /// With their last signs of life.
    nodes: BTreeMap<NodeId, (LiveNode, Time)>,
    agents: HashMap<AgentId, NodeId>,
    jobs: HashMap<String, NodeId>,
}

impl NodeRows {
    fn is_alive(&self, node: NodeId, now: Time) -> bool {
        self.nodes.get(&node).is_some_and(|(_, beat)| *beat + NODE_LEASE > now)
    }
}

impl MemoryNodes {
    /// The first node of a store.
    #[must_use]
    pub fn new(store: MemoryStore, clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self {
            id: NodeId::new(),
            database: DatabaseId::new(),
            clock: Arc::new(clock),
            rows: Arc::default(),
            store,
        }
    }

    /// Another node of the same store.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { id: NodeId::new(), ..self.clone() }
    }

    /// Forgets all nodes and what they hold, as a crash of a server may.
    pub fn crash(&self) {
        *self.rows() = NodeRows::default();
    }

    fn rows(&self) -> MutexGuard<'_, NodeRows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Nodes for MemoryNodes {
    fn id(&self) -> NodeId {
        self.id
    }

    async fn database(&self) -> Result<DatabaseId> {
        Ok(self.database)
    }

    async fn beat(&self, info: &NodeInfo) -> Result<Alive> {
        let (mut rows, now) = (self.rows(), (self.clock)());
        let started = rows.nodes.get(&self.id).map_or(now, |(node, _)| node.started);
        rows.nodes.insert(self.id, (LiveNode { id: self.id, info: info.clone(), started }, now));
        let alive = rows.nodes.values().filter(|(_, beat)| *beat + NODE_LEASE > now);
        Ok(Alive { now, nodes: alive.map(|(node, _)| node.clone()).collect() })
    }

    async fn leave(&self) -> Result<()> {
        let mut rows = self.rows();
        rows.nodes.remove(&self.id);
        rows.agents.retain(|_, holder| *holder != self.id);
        rows.jobs.retain(|_, holder| *holder != self.id);
        Ok(())
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        let mut due = self.store.due(until, after, u32::MAX).await?;
        let (rows, now) = (self.rows(), (self.clock)());
        let is_held = |agent: AgentId| {
            let holder = rows.agents.get(&agent).copied();
            holder.is_some_and(|holder| holder != self.id && rows.is_alive(holder, now))
        };
        due.retain(|wakeup| !is_held(wakeup.agent));
        due.truncate(limit as usize);
        Ok(due)
    }

    async fn take(&self, agents: &[AgentId]) -> Result<Vec<Held>> {
        let (mut rows, now) = (self.rows(), (self.clock)());
        let mut held = Vec::new();
        for agent in agents {
            let other = rows.agents.get(agent).copied();
            match other.filter(|holder| *holder != self.id && rows.is_alive(*holder, now)) {
                Some(by) => held.push(Held { agent: *agent, by }),
                None => drop(rows.agents.insert(*agent, self.id)),
            }
        }
        Ok(held)
    }

    async fn give_back(&self, agents: &[AgentId]) -> Result<()> {
        let mut rows = self.rows();
        for agent in agents {
            if rows.agents.get(agent) == Some(&self.id) {
                rows.agents.remove(agent);
            }
        }
        Ok(())
    }

    async fn take_job(&self, job: &str) -> Result<bool> {
        let (mut rows, now) = (self.rows(), (self.clock)());
        let other = rows.jobs.get(job).copied();
        if other.is_some_and(|holder| holder != self.id && rows.is_alive(holder, now)) {
            return Ok(false);
        }
        rows.jobs.insert(job.to_owned(), self.id);
        Ok(true)
    }

    async fn last_events(&self, roots: &[AgentId]) -> Result<Vec<(AgentId, u64)>> {
        let mut last = Vec::new();
        for root in roots {
            last.push((*root, self.store.last_event(&Scope::All, *root).await?));
        }
        Ok(last.into_iter().filter(|(_, last)| *last > 0).collect())
    }
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use crate::conformance::nodes::InMemory;

    crate::conformance_of_nodes!(InMemory::new);
}
