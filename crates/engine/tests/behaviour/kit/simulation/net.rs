//! The connections between the nodes of one process: signals are lost, late and doubled.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Engine, NodeSignal, Signals};
use entourage_store::Store;
use entourage_types::AgentId;
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
    nodes: Arc<Mutex<Vec<Node>>>,
}

/// One node as the others see it.
struct Node {
    engine: Option<Engine>,
    followed: BTreeSet<AgentId>,
    has_lease: Arc<AtomicBool>,
}

/// The connection of one node.
struct Link {
    net: Net,
    nth: usize,
    has_lease: Arc<AtomicBool>,
}

impl Net {
    pub(super) fn new(dice: Dice) -> Self {
        Self { dice, nodes: Arc::default() }
    }

    /// Adds a node whose engine `build` makes with the node's connection, and tells the others of the commits
    /// through its store handle.
    pub(super) fn add<B: FnOnce(Arc<dyn Signals>) -> Engine>(
        &self,
        build: B,
    ) -> (Engine, impl Future<Output = ()> + use<B>) {
        let has_lease = Arc::new(AtomicBool::new(true));
        let nth = self.nodes().len();
        let node = Node { engine: None, followed: BTreeSet::new(), has_lease: Arc::clone(&has_lease) };
        self.nodes().push(node);
        let link = Arc::new(Link { net: self.clone(), nth, has_lease });
        let signals: Arc<dyn Signals> = Arc::clone(&link) as _;
        let engine = build(signals);
        self.nodes()[nth].engine = Some(engine.clone());
        let commits = Arc::clone(engine.store());
        (engine, async move { link.tell_of(&*commits).await })
    }

    /// Gives any node its lease, or takes it away.
    pub(super) fn toggle_lease(&self) {
        let nodes = self.nodes();
        if let Some(node) = self.dice.pick(&nodes) {
            node.has_lease.fetch_xor(true, Ordering::Relaxed);
        }
    }

    /// Ends all connections.
    pub(super) fn end(&self) {
        self.nodes().clear();
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engines of all nodes but one.
    fn others(&self, nth: usize) -> Vec<Engine> {
        let nodes = self.nodes();
        let others = nodes.iter().enumerate().filter(|(other, _)| *other != nth);
        others.filter_map(|(_, node)| node.engine.clone()).collect()
    }
}

impl Link {
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
        for other in self.net.others(self.nth) {
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

    fn is_followed(&self, root: AgentId) -> bool {
        let nodes = self.net.nodes();
        nodes.iter().enumerate().any(|(nth, node)| nth != self.nth && node.followed.contains(&root))
    }

    fn follow(&self, root: AgentId) {
        if let Some(node) = self.net.nodes().get_mut(self.nth) {
            node.followed.insert(root);
        }
    }

    fn unfollow(&self, root: AgentId) {
        if let Some(node) = self.net.nodes().get_mut(self.nth) {
            node.followed.remove(&root);
        }
    }

    async fn evict(&self, agent: AgentId) {
        for other in self.net.others(self.nth) {
            while self.net.dice.chance(LOST) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            other.evict_local(agent).await;
            if self.net.dice.chance(DOUBLED) {
                other.evict_local(agent).await;
            }
        }
    }

    fn holds_lease(&self) -> bool {
        self.has_lease.load(Ordering::Relaxed)
    }

    fn poll_interval(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}
