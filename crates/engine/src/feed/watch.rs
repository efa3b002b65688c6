//! One subscriber of one tree: it reads from its cursor on from the store, then live, and from the store
//! again whenever it has fallen behind. What is held for it is bounded, however slowly it reads.

use std::sync::{Arc, PoisonError};

use entourage_store::Error as StoreError;
use entourage_types::{AgentId, EventBody, Time};
use tokio::sync::broadcast::{self, error::RecvError};

use super::{AgentDelta, Channels, Feed, Pages, Pump, Signal, TreeMessage, pages::PAGE};
use crate::{Clock, Error, Result, Signals};

/// One subscriber of one tree.
// `live` is dropped before the seat: of two subscribers that end at the same moment, the later one to check
// finds none left.
pub struct Watch {
    pages: Pages,
    last: u64,
    live: broadcast::Receiver<TreeMessage>,
    /// Whether `CaughtUp` was returned.
    announced: bool,
    /// The text of answers in progress from before it subscribed, which is still to be returned.
    said: Vec<AgentDelta>,
    /// When it looks for events whose news may have been lost.
    look: Option<Time>,
    clock: Arc<dyn Clock>,
    seat: Subscription,
    _pump: Arc<Pump>,
}

/// A subscriber's place at its tree's channel.
pub(super) struct Subscription {
    pub(super) channels: Channels,
    pub(super) signals: Arc<dyn Signals>,
    pub(super) root: AgentId,
}

impl Drop for Subscription {
    /// Removes the tree's channel with the last subscriber.
    fn drop(&mut self) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if channels.trees.get(&self.root).is_some_and(|tree| tree.subscribers() == 0) {
            channels.trees.remove(&self.root);
            self.signals.unfollow(self.root);
        }
    }
}

impl Watch {
    /// How many events are read from the store at once.
    pub const PAGE: u32 = PAGE;

    /// Reads the first page, so that an invalid cursor is refused before anything is returned.
    pub(super) async fn begin(
        feed: &Feed,
        pages: Pages,
        after: Option<u64>,
        (live, said): (broadcast::Receiver<TreeMessage>, Vec<AgentDelta>),
    ) -> Result<Self> {
        let (channels, signals) = (Arc::clone(&feed.channels), Arc::clone(&feed.signals));
        let seat = Subscription { channels, signals, root: pages.root() };
        let (clock, pump) = (Arc::clone(&feed.clock), Arc::clone(&feed.pump));
        let mut watch =
            Self { pages, last: 0, live, announced: false, said, look: None, clock, seat, _pump: pump };
        // The cursor's own event is read, too: if it still exists, nothing after it is missing.
        watch.pages.open(after.unwrap_or_default().saturating_sub(1)).await?;
        let (root, first) = (watch.pages.root(), watch.pages.first().map(|event| event.seq));
        match (after, first) {
            (Some(after), Some(first)) if first > after + 1 => {
                return Err(Error::CursorGone { root, after, first });
            }
            (Some(after), None) if after > 0 => return Err(Error::CursorAhead { root, after }),
            (Some(after), _) => watch.last = after,
            (None, first) => watch.last = first.map_or(0, |first| first - 1),
        }
        Ok(watch)
    }

    /// Returns the next signal. Events come in order, each once, without gaps. It waits as long as it takes;
    /// dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::CursorGone`] for a subscriber that reads more slowly than events are pruned; when the store
    /// fails or is closed.
    pub async fn next(&mut self) -> Result<Signal> {
        loop {
            if let Some(event) = self.pages.next(self.last).await? {
                if event.seq > self.last + 1 {
                    let (root, after) = (self.pages.root(), self.last);
                    return Err(Error::CursorGone { root, after, first: event.seq });
                }
                if event.seq == self.last + 1 {
                    self.last = event.seq;
                    if let EventBody::Item { item_seq, .. } = event.body {
                        // The answer arrived complete.
                        self.said.retain(|said| said.agent != event.agent || said.item_seq > item_seq);
                    }
                    return Ok(Signal::Event(Arc::new(event)));
                }
                continue;
            }
            if !std::mem::replace(&mut self.announced, true) {
                return Ok(Signal::CaughtUp(self.last));
            }
            if let Some(said) = self.said.pop() {
                return Ok(Signal::Delta(Arc::new(said)));
            }
            let poll_interval = self.seat.signals.poll_interval();
            let look = poll_interval.map(|every| *self.look.get_or_insert(self.clock.now() + every));
            let news = tokio::select! {
                biased;
                () = at(&*self.clock, look) => {
                    self.look = None;
                    Ok(TreeMessage::Behind)
                }
                news = self.live.recv() => news,
            };
            match news {
                Ok(TreeMessage::Event(number, _)) if number <= self.last => {}
                Ok(TreeMessage::Event(number, event)) => match event.upgrade() {
                    Some(event) if number == self.last + 1 => {
                        self.last = number;
                        return Ok(Signal::Event(event));
                    }
                    _ => self.pages.fall_behind(),
                },
                Ok(TreeMessage::Delta(delta)) => {
                    if let Some(delta) = delta.upgrade() {
                        return Ok(Signal::Delta(delta));
                    }
                }
                Ok(TreeMessage::Inbox) => return Ok(Signal::Inbox),
                Ok(TreeMessage::Behind) | Err(RecvError::Lagged(_)) => self.pages.fall_behind(),
                Err(RecvError::Closed) => return Err(StoreError::Closed.into()),
            }
        }
    }

    /// The number of the last event returned: where to go on from.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }
}

/// Returns at this time, never if there is none.
async fn at(clock: &dyn Clock, time: Option<Time>) {
    match time {
        Some(time) => clock.sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use entourage_store::MemoryStore;
    use entourage_types::Scope;

    use super::*;
    use crate::{LocalSignals, SystemClock};

    #[tokio::test]
    async fn a_channel_is_closed_when_its_last_two_subscribers_end_at_the_same_moment() {
        let (feed, root) = (
            Feed::new(Arc::new(MemoryStore::default()), Arc::new(LocalSignals), Arc::new(SystemClock)),
            AgentId::new(),
        );
        let follow = async || feed.watch(Scope::All, root, None, None).await.unwrap();
        let is_open = || feed.channels.lock().unwrap().trees.contains_key(&root);
        let Watch { live: one, seat: first, .. } = follow().await;
        let Watch { live: other, seat: second, .. } = follow().await;
        assert!(is_open());
        drop((one, other));
        drop(first);
        assert!(!is_open());
        drop(second);
        drop(follow().await);
        assert!(!is_open(), "and so it is by a single one");
    }
}
