//! Signals between the nodes that share a store. All but one are hints, which may be late, doubled or lost:
//! the facts are in the store. See `docs/adr/0029-facts-are-rows-and-signals-are-hints.md`.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_types::{AgentId, DeliveryId, NodeId, Owner, PostId, Time, Wakeup};

use crate::{AgentDelta, Engine};

/// A hint that there is a delivery for a receiver.
#[derive(Debug, Clone)]
pub struct DeliveryHint {
    /// The receiver's name.
    pub receiver: String,
    /// When it is due.
    pub due: Time,
    /// Which delivery.
    pub id: DeliveryId,
}

/// The pause before an agent is tried again while this node has lost its lease.
pub(crate) const NO_LEASE: Duration = Duration::from_secs(1);
/// How long an agent is left alone at a node that another one has evicted from it.
const EVICTED: Duration = Duration::from_secs(5);

/// What a node tells the other nodes.
#[derive(Debug, Clone)]
pub enum NodeSignal {
    /// The tree has new events.
    Tree(AgentId),
    /// A person or a program changed projects or documents of this owner.
    Documents(Owner),
    /// The agent has new input that makes its current work obsolete.
    Interrupted {
        /// The agent.
        agent: AgentId,
        /// Only if it answers this message.
        answering: Option<PostId>,
    },
    /// A piece of an answer of an agent in this tree.
    Piece(AgentId, Arc<AgentDelta>),
    /// Agents that the receiver serves, or is to serve, have something due.
    Woken(Vec<Wakeup>),
    /// There is something to deliver to a receiver outside the engine.
    Delivery(DeliveryHint),
    /// Some news were lost.
    Behind,
}

/// This node's connection to the other nodes. What it receives it hands to [`Engine::on_signal`] and
/// [`Engine::evict_local`]; of commits through this node's store handle it tells the other nodes by itself.
#[async_trait]
pub trait Signals: Send + Sync + 'static {
    /// Sends news to all other nodes. Never blocks.
    fn broadcast(&self, news: NodeSignal);

    /// Tells another node that an agent that it serves, or is to serve, has something due. Without it, that node finds it
    /// a little later.
    fn hand_over(&self, _to: NodeId, _wakeup: Wakeup) {}

    /// The node that is to serve this agent while none does; none if that is this node.
    fn home(&self, _agent: AgentId) -> Option<NodeId> {
        None
    }

    /// Whether another node is certainly there: this one has heard it of late. An agent that is taken from one that is not,
    /// in the midst of its run, is counted as one whose process has ended; after some in a row its run is.
    fn hears(&self, _node: NodeId) -> bool {
        false
    }

    /// Whether a subscriber at another node follows the tree: only then pieces are sent.
    fn is_followed(&self, root: AgentId) -> bool;

    /// A subscriber at this node follows the tree from here on, perhaps not the first one: what other nodes have of answers
    /// in progress is sent to it.
    fn follow(&self, root: AgentId);

    /// The last subscriber at this node is gone.
    fn unfollow(&self, root: AgentId);

    /// [Evicts](Engine::evict_local) the agent from all other nodes. Returns once none of them can start work for it: it
    /// has left the agent, or it no longer [holds](Self::holds_lease) its lease. Unlike all others, this signal is
    /// repeated until then.
    async fn evict(&self, agent: AgentId);

    /// Whether the other nodes still count on this one. A node for which this is false begins no effect and no
    /// model call: another node may be doing so already.
    fn holds_lease(&self) -> bool;

    /// How often subscribers look for events whose news may have been lost; none if no news can be lost.
    fn poll_interval(&self) -> Option<Duration>;
}

/// The only node.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalSignals;

#[async_trait]
impl Signals for LocalSignals {
    fn broadcast(&self, _: NodeSignal) {}

    fn is_followed(&self, _: AgentId) -> bool {
        false
    }

    fn follow(&self, _: AgentId) {}

    fn unfollow(&self, _: AgentId) {}

    async fn evict(&self, _: AgentId) {}

    fn holds_lease(&self) -> bool {
        true
    }

    fn poll_interval(&self) -> Option<Duration> {
        None
    }
}

impl Engine {
    /// Whether another node is to work for the agent.
    #[must_use]
    pub fn works_elsewhere(&self, agent: AgentId) -> bool {
        self.inner.signals.home(agent).is_some()
    }

    /// Receives news of another node.
    pub fn on_signal(&self, news: NodeSignal) {
        match news {
            NodeSignal::Tree(root) => {
                self.inner.feed.fall_behind(Some(root));
                self.inner.news.hint();
            }
            NodeSignal::Documents(owner) => self.inner.news.documents(&owner),
            NodeSignal::Behind => {
                self.inner.feed.fall_behind(None);
                self.inner.news.hint();
            }
            NodeSignal::Delivery(hint) => self.inner.outbox.hear(hint),
            NodeSignal::Interrupted { agent, answering } => {
                self.inner.activations.interrupt(agent, answering)
            }
            NodeSignal::Piece(root, piece) => self.inner.feed.hear(root, &piece),
            NodeSignal::Woken(wakeups) => {
                wakeups.iter().for_each(|wakeup| self.inner.activations.wake(wakeup.agent))
            }
        }
    }

    /// Calls `tell` with a function that returns the text so far of the answers in progress at this node in a tree. No piece
    /// is sent meanwhile, so that a subscriber that `tell` adds misses none. It must not wait, and not call this engine.
    pub fn with_answers_so_far(&self, tell: impl FnOnce(&dyn Fn(AgentId) -> Vec<AgentDelta>)) {
        self.inner.feed.with_answers_so_far(tell);
    }

    /// Ends what this node does for an agent that another node deletes, as at [`Signals::evict`]. For as long as the other
    /// node may take to write that, this node does not take the agent up again: it would fence the other one off.
    pub async fn evict_local(&self, agent: AgentId) {
        let mark = self.inner.activations.mark_deleting(agent);
        self.inner.activations.leave(agent, &**self.clock()).await;
        let clock = Arc::clone(self.clock());
        tokio::spawn(async move {
            clock.sleep(EVICTED).await;
            drop(mark);
        });
    }

    /// Ends the step in progress of an agent that has something new to read, at whichever node it works; if
    /// `answering`, only if it answers this message.
    pub(crate) fn interrupt(&self, agent: AgentId, answering: Option<PostId>) {
        self.inner.activations.interrupt(agent, answering);
        self.inner.signals.broadcast(NodeSignal::Interrupted { agent, answering });
    }
}
