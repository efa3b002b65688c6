//! What subscribers follow: committed events, gap-free, and the pieces of answers under way.
//!
//! One pump per house reads the store's hints and hands each tree's news to that tree's channel;
//! a subscriber that falls behind reads from the store again, so a slow reader costs nobody else.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use entourage_store::Store;
use entourage_types::{AgentId, Event, RunId, Scope};
use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::Result;

/// How far a subscriber may fall behind before it reads from the store again.
const BACKLOG: usize = 1024;
/// How many events are read from the store at once.
const PAGE: u32 = 500;

/// Something for a subscriber of a tree.
#[derive(Debug, Clone)]
pub enum Signal {
    /// A committed fact.
    Event(Arc<Event>),
    /// A piece of an answer under way; gone for whoever was not there. The text it belongs to
    /// arrives whole as an item event.
    Delta(Arc<AgentDelta>),
}

/// A piece of an answer under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentDelta {
    /// Whose answer.
    pub agent: AgentId,
    /// In which run.
    pub run: RunId,
    /// The number that the item will have.
    pub item_seq: u64,
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

/// What travels through a tree's channel.
#[derive(Debug, Clone)]
enum Live {
    Signal(Signal),
    /// Hints were lost: read from the store again.
    Behind,
}

type Channels = Arc<Mutex<HashMap<AgentId, broadcast::Sender<Live>>>>;

/// Where the pieces of one answer go: to whoever follows its tree at that moment.
pub(crate) struct Pieces {
    channels: Channels,
    root: AgentId,
}

impl Pieces {
    /// Hands a piece on; where nobody follows, it is not even made. The text arrives whole with
    /// its item in any case.
    pub(crate) fn send(&self, make: impl FnOnce() -> AgentDelta) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = channels.get(&self.root) {
            let _ = sender.send(Live::Signal(Signal::Delta(Arc::new(make()))));
        }
    }
}

/// The channels of all trees that somebody follows.
pub(crate) struct Feed {
    store: Arc<dyn Store>,
    channels: Channels,
    pump: Arc<Pump>,
}

/// The pump, once somebody follows; it runs as long as the house or a follower is there.
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
        Self { store, channels: Channels::default(), pump: Arc::default() }
    }

    /// Follows a tree from after the given event number.
    pub(crate) fn watch(&self, scope: Scope, root: AgentId, after: u64) -> Watch {
        self.pump.0.get_or_init(|| pump(self.store.changed(), Arc::clone(&self.channels)));
        let live = {
            let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
            channels.entry(root).or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe()
        };
        Watch {
            store: Arc::clone(&self.store),
            scope,
            root,
            last: after,
            live,
            page: Vec::new().into_iter(),
            behind: true,
            channels: Arc::clone(&self.channels),
            _pump: Arc::clone(&self.pump),
        }
    }

    /// Where the pieces of one answer in this tree go.
    pub(crate) fn pieces(&self, root: AgentId) -> Pieces {
        Pieces { channels: Arc::clone(&self.channels), root }
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
                    let channels = channels.lock().unwrap_or_else(PoisonError::into_inner);
                    for event in &change.events {
                        if let Some(sender) = channels.get(&event.root) {
                            let _ = sender.send(Live::Signal(Signal::Event(Arc::new(event.clone()))));
                        }
                    }
                }
                Err(RecvError::Lagged(_)) => {
                    let channels = channels.lock().unwrap_or_else(PoisonError::into_inner);
                    for sender in channels.values() {
                        let _ = sender.send(Live::Behind);
                    }
                }
                Err(RecvError::Closed) => return,
            }
        }
    };
    tokio::spawn(forward).abort_handle()
}

/// One subscriber of one tree.
pub struct Watch {
    store: Arc<dyn Store>,
    scope: Scope,
    root: AgentId,
    last: u64,
    live: broadcast::Receiver<Live>,
    page: std::vec::IntoIter<Event>,
    behind: bool,
    channels: Channels,
    _pump: Arc<Pump>,
}

impl Drop for Watch {
    /// The last one out closes the tree's channel.
    fn drop(&mut self) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if channels.get(&self.root).is_some_and(|sender| sender.receiver_count() <= 1) {
            channels.remove(&self.root);
        }
    }
}

impl Watch {
    /// The next signal. Events come in order, each once, none left out. It waits as long as it
    /// takes; dropping the future loses nothing.
    ///
    /// # Errors
    /// When the store fails or is closed.
    pub async fn next(&mut self) -> Result<Signal> {
        loop {
            if let Some(event) = self.page.next() {
                self.last = event.seq;
                return Ok(Signal::Event(Arc::new(event)));
            }
            if self.behind {
                let page = self.store.events(&self.scope, self.root, self.last, PAGE).await?;
                self.behind = page.len() == PAGE as usize;
                self.page = page.into_iter();
                continue;
            }
            match self.live.recv().await {
                Ok(Live::Signal(Signal::Event(event))) if event.seq <= self.last => {}
                Ok(Live::Signal(Signal::Event(event))) if event.seq == self.last + 1 => {
                    self.last = event.seq;
                    return Ok(Signal::Event(event));
                }
                Ok(Live::Signal(Signal::Event(_)) | Live::Behind) | Err(RecvError::Lagged(_)) => {
                    self.behind = true;
                }
                Ok(Live::Signal(delta)) => return Ok(delta),
                Err(RecvError::Closed) => return Err(entourage_store::Error::Closed.into()),
            }
        }
    }

    /// The number of the last event returned: where to go on from.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }
}
