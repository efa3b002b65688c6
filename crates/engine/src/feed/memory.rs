//! A limit on the bytes of events that all streams of one owner hold for their readers, however many streams
//! there are.

use std::{
    io::{self, Write},
    sync::Arc,
};

use entourage_store::{Error, Result};
use entourage_types::Event;
use serde::Serialize;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

/// A number of bytes that several [`Watch`](super::Watch)es share. Each reads a page from the store once the
/// others leave room for it, one at a time, so that they never have more than one reader of the store
/// between them.
#[derive(Debug)]
pub struct FeedMemory {
    turn: Mutex<()>,
    free: Arc<Semaphore>,
    most: u32,
}

/// Room in it; dropping it makes room for others.
pub(super) type Held = OwnedSemaphorePermit;

impl FeedMemory {
    /// So many bytes. One more page may be in memory, which waits until it has its room.
    #[must_use]
    pub fn new(most: u32) -> Arc<Self> {
        let most = most.max(1);
        Arc::new(Self { turn: Mutex::default(), free: Arc::new(Semaphore::new(most as usize)), most })
    }

    /// Reads a page when it is its turn and there is room.
    pub(super) async fn read(
        &self,
        page: impl Future<Output = Result<Vec<Event>>>,
    ) -> Result<(Vec<Event>, Held)> {
        let _turn = self.turn.lock().await;
        let mut held = self.take(1).await?;
        let page = page.await?;
        let bytes: usize = page.iter().map(bytes).sum();
        // A page larger than all of it waits until no other page is held.
        let more = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.most).saturating_sub(1);
        held.merge(self.take(more).await?);
        Ok((page, held))
    }

    async fn take(&self, bytes: u32) -> Result<Held> {
        Arc::clone(&self.free).acquire_many_owned(bytes).await.map_err(|_| Error::Closed)
    }
}

/// The bytes of something as JSON.
pub(super) fn bytes(written: &impl Serialize) -> usize {
    let mut count = Count(0);
    // A value that cannot be written as JSON ends the stream where the stream writes it.
    let _ = serde_json::to_writer(&mut count, written);
    count.0
}

struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{AgentId, EventBody, Time};
    use futures::FutureExt;

    use super::*;

    fn page(length: usize) -> Vec<Event> {
        let body = EventBody::AgentCreated { parent: None, kind: "k".into(), title: "x".repeat(length) };
        let root = AgentId::new();
        vec![Event { root, seq: 1, agent: root, at: Time::from_micros(0), body }]
    }

    #[tokio::test]
    async fn a_page_of_events_is_read_once_earlier_pages_leave_room() {
        let memory = FeedMemory::new(10_000);
        let read = |length| memory.read(async move { Ok(page(length)) });
        let (_, one) = read(4_000).await.unwrap();
        let (_, two) = read(4_000).await.unwrap();
        // It is read, and waits for its room; nothing is read after it until then.
        let mut third = Box::pin(read(4_000));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(memory.read(async { panic!("it is not read") }).now_or_never().is_none());
        drop(one);
        let (_, three) = third.now_or_never().expect("there is room").unwrap();
        drop((two, three));
        let (whole, _alone) = read(1_000_000).await.unwrap();
        assert_eq!(whole.len(), 1, "what is larger than the memory is read alone");
    }
}
