//! The nodes that are alive, as this node's last sign of life has shown them.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use entourage_store::{Alive, Error, LiveNode, NODE_LEASE, NodeInfo, Nodes, Result};
use entourage_types::{AgentId, NodeId, Time};
use tokio::{sync::watch, time::Instant};

use crate::CLOCKS;

/// The time between two signs of life.
pub(crate) const BEAT: Duration = Duration::from_secs(3);
/// How much earlier this node stops counting on itself than the others do.
const MARGIN: Duration = Duration::from_secs(2);

/// The nodes that are alive.
pub(crate) struct Members {
    nodes: Arc<dyn Nodes>,
    known: watch::Sender<Known>,
    info: RwLock<NodeInfo>,
    has_left: AtomicBool,
    /// This machine's clock.
    clock: Box<dyn Fn() -> Time + Send + Sync>,
}

/// What the last sign of life has shown.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// The others that are alive.
    pub(crate) others: Arc<[LiveNode]>,
    /// Others that were alive when a crash of the store forgot all nodes, and until when they may be.
    forgotten: Option<(Arc<[LiveNode]>, Instant)>,
    /// When this node came, as the store has it: something else once that has forgotten it.
    started: Option<Time>,
    /// Before which moment this node may begin something.
    until: Option<Instant>,
    /// The store's clock, when it was read, and how long its answer took.
    clock: Option<(Time, Instant, Duration)>,
}

impl Members {
    pub(crate) fn new(
        nodes: Arc<dyn Nodes>,
        info: NodeInfo,
        clock: impl Fn() -> Time + Send + Sync + 'static,
    ) -> Self {
        Self {
            nodes,
            known: watch::Sender::new(Known::default()),
            info: RwLock::new(info),
            has_left: AtomicBool::new(false),
            clock: Box::new(clock),
        }
    }

    /// Gives a sign of life, and learns who is alive.
    pub(crate) async fn beat(&self) -> Result<Known> {
        if self.has_left() {
            return Err(Error::Closed);
        }
        // From before it is sent: the store counts from a later moment.
        let sent = Instant::now();
        let info = self.info();
        let Alive { now, nodes } = self.nodes.beat(&info).await?;
        let me = self.nodes.id();
        let started = nodes.iter().find(|node| node.id == me).map(|node| node.started);
        let mut known = Known {
            others: nodes.into_iter().filter(|node| node.id != me).collect(),
            forgotten: None,
            started,
            until: Some(sent + NODE_LEASE.saturating_sub(MARGIN)),
            clock: Some((now, Instant::now(), sent.elapsed())),
        };
        self.known.send_modify(|last| {
            known.forgotten = match &last.forgotten {
                _ if last.started.is_some() && last.started != started => {
                    Some((Arc::clone(&last.others), Instant::now() + NODE_LEASE))
                }
                forgotten => forgotten.clone().filter(|(_, until)| Instant::now() < *until),
            };
            // Signs of life that overlap may end in either order, and after this node has left.
            if last.until < known.until && !self.has_left() {
                *last = known.clone();
            }
        });
        Ok(known)
    }

    /// Takes this node out of the store, for good: no sign of life follows, and it begins nothing any more.
    pub(crate) async fn leave(&self) -> Result<()> {
        self.has_left.store(true, Ordering::SeqCst);
        self.known.send_modify(|known| known.until = None);
        self.nodes.leave().await
    }

    /// Whether this node has left.
    pub(crate) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::SeqCst)
    }

    /// What this node tells the others about itself.
    pub(crate) fn info(&self) -> NodeInfo {
        self.info.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes what the next sign of life tells.
    pub(crate) fn change(&self, change: impl FnOnce(&mut NodeInfo)) {
        change(&mut self.info.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether the others count on this node, and can: its clock is right.
    pub(crate) fn is_counted_on(&self) -> bool {
        let known = self.known.borrow();
        known.until.is_some_and(|until| Instant::now() < until) && known.is_off((self.clock)()).is_none()
    }

    /// By how many microseconds this machine's clock is off, if that is too much.
    pub(crate) fn is_off(&self) -> Option<i64> {
        self.known.borrow().is_off((self.clock)())
    }

    /// Has the others take over, until the next sign of life.
    pub(crate) async fn pause(&self) -> Result<()> {
        self.known.send_modify(|known| known.until = None);
        self.nodes.leave().await
    }

    /// The others that were alive at the last sign of life.
    pub(crate) fn others(&self) -> Arc<[LiveNode]> {
        Arc::clone(&self.known.borrow().others)
    }

    /// Whether another node may be alive.
    pub(crate) fn may_be_alive(&self, node: NodeId) -> bool {
        self.known.borrow().possible().any(|other| other.id == node)
    }

    /// Changes with each sign of life.
    pub(crate) fn changes(&self) -> watch::Receiver<Known> {
        self.known.subscribe()
    }

    /// The node that is to serve an agent while none does; none if that is this node. All nodes that know of the same
    /// nodes say the same, and most agents keep theirs when a node comes or goes.
    pub(crate) fn home(&self, agent: AgentId) -> Option<NodeId> {
        let known = self.known.borrow();
        let others = known.others.iter().filter(|node| node.info.role.serves_all() && !node.info.draining);
        let info = self.info.read().unwrap_or_else(PoisonError::into_inner);
        let me = (info.role.serves_all() && !info.draining).then(|| self.nodes.id());
        let best = others.map(|node| node.id).chain(me).max_by_key(|node| (weight(*node, agent), *node));
        best.filter(|best| *best != self.nodes.id())
    }
}

impl Known {
    /// The others that are alive, and those that may be although the store has forgotten them.
    pub(crate) fn possible(&self) -> impl Iterator<Item = &LiveNode> {
        let forgotten = self.forgotten.iter().filter(|(_, until)| Instant::now() < *until);
        let forgotten = forgotten.flat_map(|(nodes, _)| nodes.iter());
        let is_known = |node: &&LiveNode| self.others.iter().any(|other| other.id == node.id);
        self.others.iter().chain(forgotten.filter(move |node| !is_known(node)))
    }

    /// How far it is ahead, if that is more than nodes may differ, however long the store's answer was on its way.
    pub(crate) fn is_off(&self, now: Time) -> Option<i64> {
        let (_, _, took) = self.clock?;
        self.ahead(now).filter(|ahead| u128::from(ahead.unsigned_abs()) > (CLOCKS + took).as_micros())
    }

    /// How far this machine's clock is ahead of the store's; none before the first sign of life.
    pub(crate) fn ahead(&self, now: Time) -> Option<i64> {
        let (clock, read, _) = self.clock?;
        let since = i64::try_from(read.elapsed().as_micros()).unwrap_or(i64::MAX);
        Some(now.micros() - clock.micros() - since)
    }
}

/// The node with the highest weight serves the agent. Programs of different compilers may disagree: an agent has then two
/// homes or none, and its wake-ups come a second later.
fn weight(node: NodeId, agent: AgentId) -> u64 {
    let mut hasher = DefaultHasher::new();
    (node.uuid().as_u128(), agent.uuid().as_u128()).hash(&mut hasher);
    hasher.finish()
}
