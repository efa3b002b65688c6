//! One subscriber of one tree: from its cursor out of the store, then live, and out of the store again
//! whenever it has fallen behind. What is held for it is bounded however slowly it reads.

use std::sync::{Arc, PoisonError};

use entourage_store::{Error as StoreError, Result as StoreResult, Store};
use entourage_types::{AgentId, Event, EventBody, Scope};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    task::JoinHandle,
};

use super::{AgentDelta, Channels, Feed, Live, Pump, Signal};
use crate::{Error, Result};

/// How many events are read from the store at once.
const PAGE: u32 = 500;

/// One subscriber of one tree.
pub struct Watch {
    store: Arc<dyn Store>,
    scope: Scope,
    root: AgentId,
    last: u64,
    live: broadcast::Receiver<Live>,
    page: std::vec::IntoIter<Event>,
    /// The page after it, read while this one is told.
    ahead: Option<JoinHandle<StoreResult<Vec<Event>>>>,
    /// Whether the store has more than the page.
    behind: bool,
    /// Whether it was told that it has caught up.
    told: bool,
    /// What was said of answers under way before it came, still to be told.
    said: Vec<AgentDelta>,
    channels: Channels,
    _pump: Arc<Pump>,
}

impl Drop for Watch {
    /// The last one out closes the tree's channel.
    fn drop(&mut self) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if channels.trees.get(&self.root).is_some_and(|sender| sender.receiver_count() <= 1) {
            channels.trees.remove(&self.root);
        }
    }
}

impl Watch {
    /// Reads the first page, so that a cursor that leads nowhere is refused before anything is told.
    pub(super) async fn begin(
        feed: &Feed,
        scope: Scope,
        root: AgentId,
        after: Option<u64>,
        (live, said): (broadcast::Receiver<Live>, Vec<AgentDelta>),
    ) -> Result<Self> {
        let mut watch = Self {
            store: Arc::clone(&feed.store),
            scope,
            root,
            // The cursor's own event is read too: if it is there, nothing behind it is missing.
            last: after.unwrap_or_default().saturating_sub(1),
            live,
            page: Vec::new().into_iter(),
            ahead: None,
            behind: true,
            told: false,
            said,
            channels: Arc::clone(&feed.channels),
            _pump: Arc::clone(&feed.pump),
        };
        watch.turn_the_page().await?;
        let first = watch.page.as_slice().first().map(|event| event.seq);
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

    async fn turn_the_page(&mut self) -> Result<()> {
        let page = match &mut self.ahead {
            Some(ahead) => ahead.await.map_err(|_| StoreError::Closed),
            None => Ok(self.store.events(&self.scope, self.root, self.last, PAGE).await),
        };
        self.ahead = None;
        let page = page??;
        self.behind = match page.last() {
            Some(_) if page.len() == PAGE as usize => true,
            // Large events come in smaller pages.
            Some(last) => last.seq < self.store.last_event(&self.scope, self.root).await?,
            None => false,
        };
        if let Some(last) = page.last().filter(|_| self.behind) {
            let (store, scope, root, after) =
                (Arc::clone(&self.store), self.scope.clone(), self.root, last.seq);
            self.ahead = Some(tokio::spawn(async move { store.events(&scope, root, after, PAGE).await }));
        }
        self.page = page.into_iter();
        Ok(())
    }

    /// The next signal. Events come in order, each once, none left out. It waits as long as it
    /// takes; dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::CursorGone`] for whoever reads more slowly than events are forgotten; when the store
    /// fails or is closed.
    pub async fn next(&mut self) -> Result<Signal> {
        loop {
            if let Some(event) = self.page.next() {
                if event.seq > self.last + 1 {
                    return Err(Error::CursorGone { root: self.root, after: self.last, first: event.seq });
                }
                if event.seq == self.last + 1 {
                    self.last = event.seq;
                    if let EventBody::Item { item_seq, .. } = event.body {
                        // It has come whole.
                        self.said.retain(|said| said.agent != event.agent || said.item_seq > item_seq);
                    }
                    return Ok(Signal::Event(Arc::new(event)));
                }
                continue;
            }
            if self.behind {
                self.turn_the_page().await?;
                continue;
            }
            if !std::mem::replace(&mut self.told, true) {
                return Ok(Signal::CaughtUp(self.last));
            }
            if let Some(said) = self.said.pop() {
                return Ok(Signal::Delta(Arc::new(said)));
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
                Ok(Live::Signal(signal)) => return Ok(signal),
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
