//! The pieces of one agent's answers in progress, without the events of its tree.

use std::sync::{Arc, PoisonError};

use entourage_types::AgentId;
use tokio::sync::broadcast::{self, error::RecvError};

use super::{AgentDelta, Feed, TreeMessage, watch::Subscription};

/// A follower of one agent's answers in progress.
// `live` is dropped before the seat, as in a `Watch`.
pub struct DeltaFeed {
    agent: AgentId,
    live: broadcast::Receiver<TreeMessage>,
    said: Option<AgentDelta>,
    _seat: Subscription,
}

impl DeltaFeed {
    /// Waits for the next piece; none once the engine has ended. A follower that falls behind misses pieces: the
    /// next one has an offset beyond the text that it has. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Arc<AgentDelta>> {
        if let Some(said) = self.said.take() {
            return Some(Arc::new(said));
        }
        loop {
            match self.live.recv().await {
                Ok(TreeMessage::Delta(delta)) => {
                    if let Some(delta) = delta.upgrade().filter(|delta| delta.agent == self.agent) {
                        return Some(delta);
                    }
                }
                Ok(TreeMessage::Event(..) | TreeMessage::Inbox | TreeMessage::Behind)
                | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

impl Feed {
    /// Follows the answers in progress of an agent in the tree of this root; the text so far is the first piece.
    pub(crate) fn deltas(&self, root: AgentId, agent: AgentId) -> DeltaFeed {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let said = channels.said.get(&root).and_then(|said| said.get(&agent)).cloned();
        let live = channels.trees.entry(root).or_default().subscribe();
        self.signals.follow(root);
        drop(channels);
        let (channels, signals) = (Arc::clone(&self.channels), Arc::clone(&self.signals));
        DeltaFeed { agent, live, said, _seat: Subscription { channels, signals, root } }
    }
}
