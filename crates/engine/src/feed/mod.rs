//! What subscribers follow: committed events, gap-free, and the pieces of answers under way.
//!
//! One pump per engine reads the store's hints and hands each tree's news to that tree's channel;
//! a subscriber that falls behind reads from the store again, so a slow reader costs nobody else.

mod budget;
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
use entourage_types::{AgentId, Event, RunId, Scope};
use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::Result;
use pages::Pages;
use tree::{Live, Tree};

pub use budget::Budget;
pub use watch::Watch;

/// How many of the lower bits of an attempt's number count within a process. Above them is room for two
/// million activations of an agent in the whole numbers that JSON is sure of.
const ATTEMPT_BITS: u32 = 32;

/// Something for a subscriber of a tree.
#[derive(Debug, Clone)]
pub enum Signal {
    /// A committed fact.
    Event(Arc<Event>),
    /// A piece of an answer under way. Whoever comes later gets all that was said of it before as one
    /// piece. The text it belongs to arrives whole as an item event.
    Delta(Arc<AgentDelta>),
    /// All that was has been told, up to the event with this number; from here on it is news.
    CaughtUp(u64),
}

/// A piece of an answer under way.
///
/// The texts of one attempt, each put at its offset, are the beginning of the text that is committed
/// in the end, unless a later attempt takes its place: that one begins anew. Whoever misses a piece
/// finds an offset beyond what it has, and waits for the item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentDelta {
    /// Whose answer.
    pub agent: AgentId,
    /// In which run.
    pub run: RunId,
    /// The number that the item will have.
    pub item_seq: u64,
    /// Which attempt at the answer; a higher one makes void what those before it streamed, also after a
    /// restart, and pieces of a lower one come too late.
    pub attempt: u64,
    /// Where the piece begins, in characters of the text so far.
    pub offset: u64,
    /// The piece.
    #[serde(flatten)]
    pub piece: Piece,
}

/// What a piece is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// The answer's text.
    Text(String),
    /// The model's reasoning.
    Reasoning(String),
    /// A call has begun.
    Call(String),
    /// The attempt failed; what it streamed is void and offsets start anew.
    Reset,
}

type Channels = Arc<Mutex<Open>>;

/// What is under way.
#[derive(Default)]
struct Open {
    /// The trees that somebody follows.
    trees: HashMap<AgentId, Tree>,
    /// What each agent has said of an answer, by the tops of their trees: for whoever comes later.
    said: HashMap<AgentId, HashMap<AgentId, AgentDelta>>,
}

impl Open {
    /// Keeps what was said so far.
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

    fn forget(&mut self, root: AgentId, agent: AgentId) {
        if let Some(said) = self.said.get_mut(&root) {
            said.remove(&agent);
            if said.is_empty() {
                self.said.remove(&root);
            }
        }
    }
}

/// Where the pieces of one answer go: to whoever follows its tree at that moment.
pub(crate) struct Pieces {
    channels: Channels,
    attempts: Arc<AtomicU64>,
    root: AgentId,
    epoch: u64,
}

impl Pieces {
    /// The number of another attempt. None before it is as high, in this process or in one that died: the
    /// epoch leads, which only rises.
    pub(crate) fn attempt(&self) -> u64 {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        (self.epoch << ATTEMPT_BITS) | (number & ((1 << ATTEMPT_BITS) - 1))
    }

    /// Hands a piece on to whoever follows, and keeps it for whoever comes while the answer is under way.
    pub(crate) fn send(&self, delta: AgentDelta) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.keep(self.root, &delta);
        if let Some(tree) = channels.trees.get_mut(&self.root) {
            tree.say(delta);
        }
    }

    /// No attempt of this agent is under way any more.
    pub(crate) fn over(&self, agent: AgentId) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.forget(self.root, agent);
    }
}

/// The channels of all trees that somebody follows.
pub(crate) struct Feed {
    store: Arc<dyn Store>,
    channels: Channels,
    attempts: Arc<AtomicU64>,
    pump: Arc<Pump>,
}

/// The pump, once somebody follows; it runs as long as the engine or a follower is there.
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
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, channels: Channels::default(), attempts: Arc::default(), pump: Arc::default() }
    }

    /// Follows a tree from after an event, or from the first that is kept; within a budget, if there is one.
    pub(crate) async fn watch(
        &self,
        scope: Scope,
        root: AgentId,
        after: Option<u64>,
        budget: Option<Arc<Budget>>,
    ) -> Result<Watch> {
        self.pump.0.get_or_init(|| pump(self.store.changed(), Arc::clone(&self.channels)));
        let (live, said) = {
            let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
            // In one moment, so that no piece is missing and none comes twice.
            let said = channels.said.get(&root).map(|said| said.values().cloned().collect());
            let tree = channels.trees.entry(root).or_default();
            (tree.subscribe(), said.unwrap_or_default())
        };
        Watch::begin(self, Pages::new(self, scope, root, budget), after, (live, said)).await
    }

    /// Where the pieces of one answer in this tree go; `epoch` is that of the activation that asks for it.
    pub(crate) fn pieces(&self, root: AgentId, epoch: u64) -> Pieces {
        Pieces { channels: Arc::clone(&self.channels), attempts: Arc::clone(&self.attempts), root, epoch }
    }
}

fn pump(
    mut changed: broadcast::Receiver<Arc<entourage_store::Changed>>,
    channels: Channels,
) -> tokio::task::AbortHandle {
    let forward = async move {
        loop {
            match changed.recv().await {
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

    /// What streamed before a restart is void: the counter begins anew, and the epoch has risen.
    #[test]
    fn an_attempt_after_a_restart_has_a_higher_number() {
        let pieces = |made: u64, epoch| Pieces {
            channels: Channels::default(),
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
