//! The connections between the nodes: signals are lost, late and doubled, and nodes lose their leases.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Engine, NodeSignal, Signals};
use entourage_store::Store;
use entourage_types::{AgentId, NodeId};
use tokio::sync::broadcast::error::RecvError;

use crate::kit::Dice;

/// How many of a hundred signals are lost.
const LOST: usize = 25;
/// How many of a hundred arrive twice.
const DOUBLED: usize = 15;

/// All nodes and what connects them. Clones are the same net.
#[derive(Clone)]
pub(super) struct Net {
    dice: Dice,
    /// The nodes by their numbers, which are not given again.
    nodes: Arc<Mutex<BTreeMap<usize, Peer>>>,
    added: Arc<AtomicUsize>,
}

/// One node as the others see it.
struct Peer {
    engine: Engine,
    followed: BTreeSet<AgentId>,
    lease: Lease,
}

/// The lease of one node. Clones are the same lease.
#[derive(Clone)]
pub(super) struct Lease {
    node: usize,
    /// As the node sees it.
    is_held: Arc<AtomicBool>,
    /// As the others see it: for them the lease ends later than for the node.
    counts: Arc<AtomicBool>,
}

impl Lease {
    pub(super) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    /// The node has it again.
    pub(super) fn give(&self) {
        self.is_held.store(true, Ordering::Relaxed);
        self.counts.store(true, Ordering::Relaxed);
    }

    /// The node has lost it, which the others do not see yet.
    pub(super) fn take(&self) {
        self.is_held.store(false, Ordering::Relaxed);
    }

    /// From here on the others do not wait for the node.
    pub(super) fn expire(&self) {
        self.counts.store(false, Ordering::Relaxed);
    }
}

/// The connection of one node.
struct Link {
    net: Net,
    lease: Lease,
}

impl Net {
    pub(super) fn new(dice: Dice) -> Self {
        Self { dice, nodes: Arc::default(), added: Arc::default() }
    }

    /// Adds a node whose engine `build` makes with the node's connection, and tells the others of the commits
    /// through its store handle.
    pub(super) fn add<B: FnOnce(Arc<dyn Signals>) -> Engine>(
        &self,
        build: B,
    ) -> (Engine, Lease, impl Future<Output = ()> + use<B>) {
        let node = self.added.fetch_add(1, Ordering::Relaxed);
        let (is_held, counts) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(true)));
        let lease = Lease { node, is_held, counts };
        let link = Arc::new(Link { net: self.clone(), lease: lease.clone() });
        let engine = build(Arc::clone(&link) as _);
        let peer = Peer { engine: engine.clone(), followed: BTreeSet::new(), lease: lease.clone() };
        self.nodes().insert(node, peer);
        let commits = Arc::clone(engine.store());
        (engine, lease, async move { link.tell_of(&*commits).await })
    }

    /// Removes a node, which begins nothing any more.
    pub(super) fn remove(&self, lease: &Lease) {
        let removed = self.nodes().remove(&lease.node);
        // Dropped when the nodes are free again: the end of an engine's subscribers is told to the net.
        drop(removed);
    }

    fn nodes(&self) -> MutexGuard<'_, BTreeMap<usize, Peer>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    /// All other nodes.
    fn others(&self) -> Vec<(Engine, Lease)> {
        let nodes = self.net.nodes();
        let others = nodes.values().filter(|peer| peer.lease.node != self.lease.node);
        others.map(|peer| (peer.engine.clone(), peer.lease.clone())).collect()
    }

    async fn tell_of(&self, commits: &dyn Store) {
        let mut changed = commits.changed();
        loop {
            match changed.recv().await {
                Ok(changed) => {
                    let trees: BTreeSet<AgentId> = changed.events.iter().map(|event| event.root).collect();
                    trees.into_iter().for_each(|tree| self.broadcast(NodeSignal::Tree(tree)));
                }
                Err(RecvError::Lagged(_)) => self.broadcast(NodeSignal::Behind),
                Err(RecvError::Closed) => return,
            }
        }
    }
}

#[async_trait]
impl Signals for Link {
    fn broadcast(&self, news: NodeSignal) {
        for (other, _) in self.others() {
            let dice = self.net.dice.clone();
            let times = if dice.chance(LOST) { 0 } else { 1 + usize::from(dice.chance(DOUBLED)) };
            for _ in 0..times {
                let (dice, other, news) = (dice.clone(), other.clone(), news.clone());
                tokio::spawn(async move {
                    dice.linger().await;
                    if dice.chance(LOST) {
                        tokio::time::sleep(Duration::from_secs(dice.below(20) as u64)).await;
                    }
                    other.on_signal(news);
                });
            }
        }
    }

    /// What one machine takes from another moves, for want of a lease: no end is counted here.
    fn hears(&self, _: NodeId) -> bool {
        true
    }

    fn is_followed(&self, root: AgentId) -> bool {
        let nodes = self.net.nodes();
        nodes.iter().any(|(node, peer)| *node != self.lease.node && peer.followed.contains(&root))
    }

    fn follow(&self, root: AgentId) {
        if let Some(peer) = self.net.nodes().get_mut(&self.lease.node) {
            peer.followed.insert(root);
        }
    }

    fn unfollow(&self, root: AgentId) {
        if let Some(peer) = self.net.nodes().get_mut(&self.lease.node) {
            peer.followed.remove(&root);
        }
    }

    async fn evict(&self, agent: AgentId) {
        for (other, lease) in self.others() {
            while self.net.dice.chance(LOST) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            // One without a lease begins nothing, and may be out of reach.
            while lease.counts.load(Ordering::Relaxed) {
                other.evict_local(agent).await;
                if !self.net.dice.chance(DOUBLED) {
                    break;
                }
            }
        }
    }

    fn holds_lease(&self) -> bool {
        self.lease.is_held()
    }

    fn poll_interval(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}
