//! The limits of long responses, which are event streams and requests that wait for an agency's answer: how
//! many each owner may have open, and how many bytes all of an owner's hold that its clients have not read.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use entourage_engine::{Client, FeedMemory};
use entourage_types::Owner;

use crate::{Problem, connections::Limits};

/// The most bytes that all streams of one owner hold for clients to read.
const HELD: u32 = 32 << 20;

/// The open streams.
pub(crate) struct Streams {
    /// How many streams one owner may have.
    each: usize,
    /// How many streams there may be in total.
    all: usize,
    open: Mutex<HashMap<Owner, Of>>,
}

/// The open streams of one owner, and the bytes that they may hold.
struct Of {
    open: usize,
    memory: Arc<FeedMemory>,
}

impl Streams {
    /// Allows `each` streams for each owner, within the limits.
    pub(crate) fn new(each: usize, limits: Limits) -> Arc<Self> {
        Arc::new(Self { each: each.clamp(1, limits.half()), all: limits.share(), open: Mutex::default() })
    }

    /// Opens a stream, and returns the client that reads for it within the owner's memory.
    pub(crate) fn open(self: &Arc<Self>, client: &Client) -> Result<(Client, Opened), Problem> {
        let mut open = self.locked();
        let all: usize = open.values().map(|of| of.open).sum();
        let of = open.get(client.owner()).map_or(0, |of| of.open);
        if of >= self.each {
            return Err(Problem::too_many_streams(format!(
                "{of} streams and requests of yours wait for answers, as many as one owner may have; close one, or ask \
                 again once one is answered. One stream covers a whole tree; `server.streams` raises the limit"
            )));
        }
        if all >= self.all {
            return Err(Problem::busy("all streams that this server takes are open; ask again"));
        }
        let owner = client.owner().clone();
        let of = open.entry(owner.clone()).or_insert_with(|| Of { open: 0, memory: FeedMemory::new(HELD) });
        of.open += 1;
        let client = client.clone().within(Arc::clone(&of.memory));
        Ok((client, Opened { streams: Arc::clone(self), owner }))
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Owner, Of>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that is open until this is dropped.
pub(crate) struct Opened {
    streams: Arc<Streams>,
    owner: Owner,
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut open = self.streams.locked();
        if let Some(of) = open.get_mut(&self.owner) {
            of.open -= 1;
            if of.open == 0 {
                open.remove(&self.owner);
            }
        }
    }
}
