//! The channel of one tree: what its subscribers receive live.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{Arc, Weak},
};

use entourage_types::Event;
use tokio::sync::broadcast;

use super::{AgentDelta, Piece, memory::bytes};

/// How far a subscriber may fall behind before it reads from the store again.
const BACKLOG: usize = 1024;
/// How many bytes are kept for subscribers that have fallen behind; an event of that size is read from the
/// store by each subscriber.
const KEPT: usize = 256 << 10;

/// A message of a tree's channel. It has a weak reference, so that a slow subscriber holds nothing.
#[derive(Debug, Clone)]
pub(super) enum TreeMessage {
    /// The event with this number.
    Event(u64, Weak<Event>),
    /// A piece of an answer.
    Delta(Weak<AgentDelta>),
    /// Something may have come into the inbox of the tree's root.
    Inbox,
    /// Something was not sent: read from the store again.
    Behind,
}

/// The channel of one tree.
pub(super) struct Tree {
    sender: broadcast::Sender<TreeMessage>,
    /// Held so that subscribers can upgrade their references.
    kept: VecDeque<(usize, Arc<dyn Any + Send + Sync>)>,
    bytes: usize,
}

impl Default for Tree {
    fn default() -> Self {
        Self { sender: broadcast::channel(BACKLOG).0, kept: VecDeque::new(), bytes: 0 }
    }
}

impl Tree {
    pub(super) fn subscribe(&self) -> broadcast::Receiver<TreeMessage> {
        self.sender.subscribe()
    }

    pub(super) fn subscribers(&self) -> usize {
        self.sender.receiver_count()
    }

    /// Sends a committed event.
    pub(super) fn tell(&mut self, event: &Event) {
        let bytes = bytes(event);
        if bytes >= KEPT {
            return self.lose();
        }
        let held = Arc::new(event.clone());
        let message = TreeMessage::Event(event.seq, Arc::downgrade(&held));
        self.send(message, bytes, held);
    }

    /// Sends a piece of an answer.
    pub(super) fn say(&mut self, delta: AgentDelta) {
        let text = match &delta.piece {
            Piece::Text(text) | Piece::Reasoning(text) | Piece::Call(text) => text.len(),
            Piece::Reset => 0,
        };
        let held = Arc::new(delta);
        let message = TreeMessage::Delta(Arc::downgrade(&held));
        self.send(message, text + size_of::<AgentDelta>(), held);
    }

    /// Hints that something may have come into the inbox of the tree's root.
    pub(super) fn hint_inbox(&self) {
        let _ = self.sender.send(TreeMessage::Inbox);
    }

    /// Signals that something is not sent.
    pub(super) fn lose(&self) {
        let _ = self.sender.send(TreeMessage::Behind);
    }

    /// Sends a message and keeps what it refers to. The newest is kept in any case, for subscribers that keep
    /// up.
    fn send(&mut self, message: TreeMessage, bytes: usize, kept: Arc<dyn Any + Send + Sync>) {
        self.kept.push_back((bytes, kept));
        self.bytes += bytes;
        while self.kept.len() > 1 && (self.bytes > KEPT || self.kept.len() > BACKLOG) {
            if let Some((gone, _)) = self.kept.pop_front() {
                self.bytes -= gone;
            }
        }
        let _ = self.sender.send(message);
    }
}
