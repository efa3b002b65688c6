//! What the nodes that share a store keep in it beside its rows: which of them are alive, and which of them serves
//! which agent. It spares work that would be done twice; what must not happen twice is guarded by the epochs of agents.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use entourage_types::{AgentId, DatabaseId, DispatchBy, NodeId, NodeRole, Time, Wakeup, WakeupId};

use crate::Result;

/// How long the other nodes count on a node after its last sign of life.
pub const NODE_LEASE: Duration = Duration::from_secs(10);

/// What a node tells the others about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    /// Where the others reach it; none if it accepts no connections.
    pub listener: Option<NodeListener>,
    /// The version of its program.
    pub version: String,
    /// What it does.
    pub role: NodeRole,
    /// What tells it which agents are due; none for a node of a program that does not say.
    pub dispatch: Option<DispatchBy>,
    /// Whether it is about to end, and takes no more work.
    pub draining: bool,
}

/// Where a node accepts connections of the others.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeListener {
    /// A host with a port.
    pub address: String,
    /// What a node presents that connects. Every process that can read the store can connect.
    pub token: String,
}

impl fmt::Debug for NodeListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeListener").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A node that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveNode {
    /// Its id.
    pub id: NodeId,
    /// Its latest description of itself.
    pub info: NodeInfo,
    /// When it came, by the store's clock.
    pub started: Time,
}

/// The answer to a sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alive {
    /// The store's clock, which all nodes share.
    pub now: Time,
    /// The nodes that are alive, this one among them, in the order of their ids.
    pub nodes: Vec<LiveNode>,
}

/// An agent that another node serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The agent.
    pub agent: AgentId,
    /// The live node that serves it.
    pub by: NodeId,
}

/// What one node keeps in a store that it shares with others. A node is alive for [`NODE_LEASE`] after each sign of life,
/// by the store's clock; what it holds is free once it is not.
#[async_trait]
pub trait Nodes: Send + Sync + 'static {
    /// This node.
    fn id(&self) -> NodeId;

    /// The id of the store, the same for all of its nodes, and for good. A copy has the same.
    async fn database(&self) -> Result<DatabaseId>;

    /// Gives a sign of life.
    async fn beat(&self, info: &NodeInfo) -> Result<Alive>;

    /// Takes this node's row away, with all that it holds.
    async fn leave(&self) -> Result<()>;

    /// Like [`Store::due`](crate::Store::due), without the wake-ups of agents that other live nodes hold.
    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>>;

    /// Takes these agents for this node. Those that another live node holds it does not get: they are returned with their
    /// holders. Taking one that this node holds already changes nothing. What was taken need not survive a crash of the
    /// store.
    async fn take(&self, agents: &[AgentId]) -> Result<Vec<Held>>;

    /// Gives agents back that this node has taken. Others are left as they are.
    async fn give_back(&self, agents: &[AgentId]) -> Result<()>;

    /// Takes a job that one node does for all. Returns whether this node has it now; it keeps it until it leaves or is no
    /// longer alive.
    async fn take_job(&self, job: &str) -> Result<bool>;

    /// The number of the last event of each of these trees, in any order; a tree without events is left out.
    async fn last_events(&self, roots: &[AgentId]) -> Result<Vec<(AgentId, u64)>>;
}
