//! The channel of one tree: what its subscribers hear while it happens.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{Arc, Weak},
};

use entourage_types::Event;
use tokio::sync::broadcast;

use super::{AgentDelta, Piece, budget::bytes};

/// How far a subscriber may fall behind before it reads from the store again.
const BACKLOG: usize = 1024;
/// How many bytes are kept for those that have fallen behind; an event as long as that is read from the
/// store by each.
const KEPT: usize = 256 << 10;

/// What travels through a tree's channel: references, so that a slow subscriber holds nothing.
#[derive(Debug, Clone)]
pub(super) enum Live {
    /// The event with this number.
    Event(u64, Weak<Event>),
    /// A piece of an answer.
    Delta(Weak<AgentDelta>),
    /// Something was not handed on: read from the store again.
    Behind,
}

/// The channel of one tree.
pub(super) struct Tree {
    sender: broadcast::Sender<Live>,
    /// Held so that those who follow find it.
    kept: VecDeque<(usize, Arc<dyn Any + Send + Sync>)>,
    bytes: usize,
}

impl Default for Tree {
    fn default() -> Self {
        Self { sender: broadcast::channel(BACKLOG).0, kept: VecDeque::new(), bytes: 0 }
    }
}

impl Tree {
    pub(super) fn subscribe(&self) -> broadcast::Receiver<Live> {
        self.sender.subscribe()
    }

    pub(super) fn subscribers(&self) -> usize {
        self.sender.receiver_count()
    }

    /// Hands a committed event on.
    pub(super) fn tell(&mut self, event: &Event) {
        let bytes = bytes(event);
        if bytes >= KEPT {
            return self.lose();
        }
        let held = Arc::new(event.clone());
        let live = Live::Event(event.seq, Arc::downgrade(&held));
        self.send(live, bytes, held);
    }

    /// Hands a piece of an answer on.
    pub(super) fn say(&mut self, delta: AgentDelta) {
        let text = match &delta.piece {
            Piece::Text(text) | Piece::Reasoning(text) | Piece::Call(text) => text.len(),
            Piece::Reset => 0,
        };
        let held = Arc::new(delta);
        let live = Live::Delta(Arc::downgrade(&held));
        self.send(live, text + size_of::<AgentDelta>(), held);
    }

    /// Something is not handed on.
    pub(super) fn lose(&self) {
        let _ = self.sender.send(Live::Behind);
    }

    /// The newest is kept at any rate, for those who keep up.
    fn send(&mut self, live: Live, bytes: usize, kept: Arc<dyn Any + Send + Sync>) {
        self.kept.push_back((bytes, kept));
        self.bytes += bytes;
        while self.kept.len() > 1 && (self.bytes > KEPT || self.kept.len() > BACKLOG) {
            if let Some((gone, _)) = self.kept.pop_front() {
                self.bytes -= gone;
            }
        }
        let _ = self.sender.send(live);
    }
}
