//! What subscribers follow: committed events, without gaps, and the pieces of answers in progress.
//!
//! One pump per engine reads the store's hints and forwards each tree's events to that tree's channel; a
//! subscriber that falls behind reads from the store again, so a slow reader does not slow down others.

mod deltas;
mod memory;
mod pages;
mod tree;
mod watch;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use entourage_store::Store;
use entourage_types::{AgentId, Event, Scope, Wakeup};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::{AgentDelta, Clock, NodeSignal, Piece, Result, Signals};
use pages::Pages;
use tree::{Tree, TreeMessage};

pub use deltas::DeltaFeed;
pub use memory::FeedMemory;
pub use watch::Watch;

/// How many of the lower bits of an attempt's number count within a process. Above them is room for two
/// million activations of an agent in the integers that JSON represents exactly.
const ATTEMPT_BITS: u32 = 32;

/// What a subscriber of a tree receives.
#[derive(Debug, Clone)]
pub enum Signal {
    /// A committed event.
    Event(Arc<Event>),
    /// A piece of an answer in progress. A later subscriber gets all pieces before it as one piece. The
    /// complete text arrives as an item event.
    Delta(Arc<AgentDelta>),
    /// Something may have come into the inbox of the tree's root: a hint of this node's commits, which may be lost or in
    /// vain. What is read of it arrives as an event.
    Inbox,
    /// All past events were returned, up to the one with this number; what follows is new.
    CaughtUp(u64),
}

type Channels = Arc<Mutex<Open>>;

/// The channels with subscribers, and the answers in progress.
#[derive(Default)]
struct Open {
    /// The trees with subscribers.
    trees: HashMap<AgentId, Tree>,
    /// The text so far of each agent's answer in progress, by the roots of the trees: for later subscribers.
    said: HashMap<AgentId, HashMap<AgentId, AgentDelta>>,
}

impl Open {
    /// Keeps the text so far.
    fn keep(&mut self, root: AgentId, delta: &AgentDelta) {
        match &delta.piece {
            Piece::Text(text) => {
                let said = self.said.entry(root).or_default();
                match said.get_mut(&delta.agent).map(|said| &mut said.piece) {
                    Some(Piece::Text(before)) => before.push_str(text),
                    _ => drop(said.insert(delta.agent, delta.clone())),
                }
            }
            Piece::Reset => self.forget(root, delta.agent),
            Piece::Reasoning(_) | Piece::Call(_) => {}
        }
    }

    /// The text so far of the answers in progress in a tree.
    fn said(&self, root: AgentId) -> Vec<AgentDelta> {
        self.said.get(&root).map(|said| said.values().cloned().collect()).unwrap_or_default()
    }

    fn forget(&mut self, root: AgentId, agent: AgentId) {
        if let Some(said) = self.said.get_mut(&root) {
            said.remove(&agent);
            if said.is_empty() {
                self.said.remove(&root);
            }
        }
    }
}

/// Sends the pieces of one answer to the current subscribers of its tree.
pub(crate) struct Pieces {
    channels: Channels,
    signals: Arc<dyn Signals>,
    attempts: Arc<AtomicU64>,
    root: AgentId,
    epoch: u64,
}

impl Pieces {
    /// The number of a new attempt. It is higher than all before it, in this process and in earlier ones: its
    /// upper bits are the epoch, which only rises.
    pub(crate) fn attempt(&self) -> u64 {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        (self.epoch << ATTEMPT_BITS) | (number & ((1 << ATTEMPT_BITS) - 1))
    }

    /// Sends a piece to all subscribers, and keeps its text for subscribers that come while the answer is in
    /// progress.
    pub(crate) fn send(&self, delta: AgentDelta) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.keep(self.root, &delta);
        if self.signals.is_followed(self.root) {
            self.signals.broadcast(NodeSignal::Piece(self.root, Arc::new(delta.clone())));
        }
        if let Some(tree) = channels.trees.get_mut(&self.root) {
            tree.say(delta);
        }
    }

    /// Forgets the text so far: no attempt of this agent is in progress any more.
    pub(crate) fn over(&self, agent: AgentId) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.forget(self.root, agent);
    }
}

/// The channels of all trees with subscribers.
pub(crate) struct Feed {
    store: Arc<dyn Store>,
    signals: Arc<dyn Signals>,
    clock: Arc<dyn Clock>,
    channels: Channels,
    attempts: Arc<AtomicU64>,
    pump: Arc<Pump>,
}

/// The pump, started for the first subscriber; it runs as long as the engine or a subscriber exists.
#[derive(Default)]
struct Pump(OnceLock<tokio::task::AbortHandle>);

impl Drop for Pump {
    fn drop(&mut self) {
        if let Some(task) = self.0.get() {
            task.abort();
        }
    }
}

impl Feed {
    pub(crate) fn new(store: Arc<dyn Store>, signals: Arc<dyn Signals>, clock: Arc<dyn Clock>) -> Self {
        let (channels, attempts, pump) = (Channels::default(), Arc::default(), Arc::default());
        Self { store, signals, clock, channels, attempts, pump }
    }

    /// Has the subscribers of a tree, or of all trees, read from the store again.
    pub(crate) fn fall_behind(&self, root: Option<AgentId>) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        match root {
            Some(root) => channels.trees.get(&root).into_iter().for_each(Tree::lose),
            None => channels.trees.values().for_each(Tree::lose),
        }
    }

    /// Calls `tell` with what gives the text so far of the answers in progress in a tree, while no piece is sent.
    pub(crate) fn with_answers_so_far(&self, tell: impl FnOnce(&dyn Fn(AgentId) -> Vec<AgentDelta>)) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        tell(&|root| channels.said(root));
    }

    /// Passes on a piece of an answer that is in progress at another node. It is not kept for later subscribers, for whom
    /// that node is asked again: this one would not learn if the answer is abandoned.
    pub(crate) fn hear(&self, root: AgentId, piece: &AgentDelta) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = channels.trees.get_mut(&root) {
            tree.say(piece.clone());
        }
    }

    /// Follows a tree from after an event, or from the first that is kept; within so much memory, if there is one.
    pub(crate) async fn watch(
        &self,
        scope: Scope,
        root: AgentId,
        after: Option<u64>,
        memory: Option<Arc<FeedMemory>>,
    ) -> Result<Watch> {
        self.pump
            .0
            .get_or_init(|| pump((self.store.changed(), self.store.woken()), Arc::clone(&self.channels)));
        let (live, said) = {
            let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
            // Under one lock, so that no piece is missed and none comes twice.
            let said = channels.said(root);
            let live = channels.trees.entry(root).or_default().subscribe();
            self.signals.follow(root);
            (live, said)
        };
        Watch::begin(self, Pages::new(self, scope, root, memory), after, (live, said)).await
    }

    /// The sender for the pieces of one answer in this tree; `epoch` is that of the activation that requests
    /// the answer.
    pub(crate) fn pieces(&self, root: AgentId, epoch: u64) -> Pieces {
        Pieces {
            channels: Arc::clone(&self.channels),
            signals: Arc::clone(&self.signals),
            attempts: Arc::clone(&self.attempts),
            root,
            epoch,
        }
    }
}

fn pump(
    (mut changed, mut woken): (
        broadcast::Receiver<Arc<entourage_store::CommittedEvents>>,
        broadcast::Receiver<Arc<[Wakeup]>>,
    ),
    channels: Channels,
) -> tokio::task::AbortHandle {
    let forward = async move {
        loop {
            let changed = tokio::select! {
                biased;
                changed = changed.recv() => changed,
                woken = woken.recv() => {
                    let channels = channels.lock().unwrap_or_else(PoisonError::into_inner);
                    match woken {
                        // People write to roots.
                        Ok(woken) => woken
                            .iter()
                            .filter_map(|wakeup| channels.trees.get(&wakeup.agent))
                            .for_each(Tree::hint_inbox),
                        Err(RecvError::Lagged(_)) => channels.trees.values().for_each(Tree::hint_inbox),
                        Err(RecvError::Closed) => return,
                    }
                    continue;
                }
            };
            match changed {
                Ok(change) => {
                    let mut channels = channels.lock().unwrap_or_else(PoisonError::into_inner);
                    for event in &change.events {
                        if let Some(tree) = channels.trees.get_mut(&event.root) {
                            tree.tell(event);
                        }
                    }
                }
                Err(RecvError::Lagged(_)) => {
                    let channels = channels.lock().unwrap_or_else(PoisonError::into_inner);
                    channels.trees.values().for_each(Tree::lose);
                }
                Err(RecvError::Closed) => return,
            }
        }
    };
    tokio::spawn(forward).abort_handle()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalSignals;

    /// What streamed before a restart is void: the counter begins again, and the epoch has risen.
    #[test]
    fn an_attempt_after_a_restart_has_a_higher_number() {
        let pieces = |made: u64, epoch| Pieces {
            channels: Channels::default(),
            signals: Arc::new(LocalSignals),
            attempts: Arc::new(AtomicU64::new(made)),
            root: AgentId::new(),
            epoch,
        };
        let before = pieces(1_000, 1);
        let (first, second) = (before.attempt(), before.attempt());
        assert!(first < second, "{first} {second}");
        let after = pieces(0, 2).attempt();
        assert!(second < after, "{second} {after}");
    }
}
