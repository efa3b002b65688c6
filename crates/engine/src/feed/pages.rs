//! The events of a tree, read from the store page by page.

use std::sync::Arc;

use entourage_store::{Error as StoreError, Result as StoreResult, Store};
use entourage_types::{AgentId, Event, Scope};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Feed,
    memory::{FeedMemory, Held},
};
use crate::Result;

/// How many events are read from the store at once.
pub(super) const PAGE: u32 = 500;

/// Where pages come from.
#[derive(Clone)]
struct Source {
    store: Arc<dyn Store>,
    scope: Scope,
    root: AgentId,
    memory: Option<Arc<FeedMemory>>,
}

/// One page.
struct Page {
    events: Vec<Event>,
    /// Whether the store has more.
    is_full: bool,
    held: Option<Held>,
}

/// The events of a tree, a page at a time. The next page is read while the reader takes the second half of
/// this one, so that for a reader that takes nothing one page is held.
pub(super) struct Pages {
    source: Source,
    page: std::vec::IntoIter<Event>,
    /// The next page is read once at most so many events of this one are left.
    ahead: usize,
    held: Option<Held>,
    /// Whether the store has more than the page.
    behind: bool,
    reading: Option<AbortOnDropHandle<StoreResult<Page>>>,
}

impl Pages {
    pub(super) fn new(feed: &Feed, scope: Scope, root: AgentId, memory: Option<Arc<FeedMemory>>) -> Self {
        let source = Source { store: Arc::clone(&feed.store), scope, root, memory };
        Self { source, page: Vec::new().into_iter(), ahead: 0, held: None, behind: true, reading: None }
    }

    pub(super) fn root(&self) -> AgentId {
        self.source.root
    }

    /// The first event that was not taken yet, of those that were read.
    pub(super) fn first(&self) -> Option<&Event> {
        self.page.as_slice().first()
    }

    /// Notes that the store has more events than were sent.
    pub(super) fn fall_behind(&mut self) {
        self.behind = true;
    }

    /// Returns the next event, none once the store has no more. If nothing was read yet, that is the first
    /// after `last`. The future may be dropped before it is ready: nothing is lost.
    pub(super) async fn next(&mut self, last: u64) -> Result<Option<Event>> {
        loop {
            if self.behind && self.reading.is_none() && self.page.len() <= self.ahead {
                let after = self.page.as_slice().last().map_or(last, |event| event.seq);
                self.reading = Some(self.source.read(after));
            }
            if let Some(event) = self.page.next() {
                return Ok(Some(event));
            }
            // The reader has taken the whole page.
            drop(self.held.take());
            if !self.turn().await? {
                return Ok(None);
            }
        }
    }

    /// Reads the first page, of the events after `last`.
    pub(super) async fn open(&mut self, last: u64) -> Result<()> {
        self.reading = Some(self.source.read(last));
        self.turn().await.map(drop)
    }

    /// Waits for the page that is being read, and returns whether there was one.
    async fn turn(&mut self) -> Result<bool> {
        let Some(reading) = &mut self.reading else { return Ok(false) };
        let page = reading.await.map_err(|_| StoreError::Closed);
        self.reading = None;
        let Page { events, is_full, held } = page??;
        self.behind = is_full;
        // Large events come in smaller pages; of these none is read ahead.
        self.ahead = if events.len() == PAGE as usize { events.len() / 2 } else { 0 };
        self.page = events.into_iter();
        self.held = held;
        Ok(true)
    }
}

impl Source {
    /// Reads a page in a task of its own, which takes its turn also while the reader polls
    /// nothing.
    fn read(&self, after: u64) -> AbortOnDropHandle<StoreResult<Page>> {
        let source = self.clone();
        AbortOnDropHandle::new(tokio::spawn(async move { source.page(after).await }))
    }

    async fn page(&self, after: u64) -> StoreResult<Page> {
        let read = self.store.events(&self.scope, self.root, after, PAGE);
        let (events, held) = match &self.memory {
            Some(memory) => memory.read(read).await.map(|(events, held)| (events, Some(held)))?,
            None => (read.await?, None),
        };
        let is_full = match events.last() {
            Some(_) if events.len() == PAGE as usize => true,
            // Large events come in smaller pages: one that is not full may still have a successor.
            Some(last) => last.seq < self.store.last_event(&self.scope, self.root).await?,
            None => false,
        };
        Ok(Page { events, is_full, held })
    }
}
