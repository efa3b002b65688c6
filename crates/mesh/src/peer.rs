//! Another node, as this one is linked to it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use entourage_types::AgentId;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{link::LATELY, queue::Queue};

/// Another node.
pub(crate) struct Peer {
    pub(crate) queue: Queue,
    follows: Mutex<HashSet<AgentId>>,
    /// The current link, if there is one.
    link: Mutex<Option<CancellationToken>>,
    /// When it last said something.
    heard: Mutex<Option<Instant>>,
    /// The requests that it has not answered yet.
    asked: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

/// A link that is up, until dropped.
pub(crate) struct Up<'p> {
    peer: &'p Peer,
    /// Its number in the queue.
    pub(crate) link: u64,
    replaced: CancellationToken,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Self {
            queue: Queue::default(),
            follows: Mutex::default(),
            link: Mutex::default(),
            heard: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// From here on there is a link. It replaces one that is there.
    pub(crate) fn up(&self) -> Up<'_> {
        let replaced = CancellationToken::new();
        if let Some(before) = locked(&self.link).replace(replaced.clone()) {
            before.cancel();
        }
        let link = self.queue.begin();
        self.hears();
        Up { peer: self, link, replaced }
    }

    pub(crate) fn is_up(&self) -> bool {
        locked(&self.link).is_some()
    }

    /// It has said something.
    pub(crate) fn hears(&self) {
        *locked(&self.heard) = Some(Instant::now());
    }

    /// Whether there is a link, over which it has said something of late.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_up() && locked(&self.heard).is_some_and(|heard| heard.elapsed() < LATELY)
    }

    /// Sets all trees that it follows. Returns those that it did not follow before.
    pub(crate) fn set_follows(&self, roots: Vec<AgentId>) -> Vec<AgentId> {
        let mut follows = locked(&self.follows);
        let new = roots.iter().copied().filter(|root| !follows.contains(root)).collect();
        *follows = roots.into_iter().collect();
        new
    }

    pub(crate) fn is_following(&self, root: AgentId) -> bool {
        locked(&self.follows).contains(&root)
    }

    /// It has answered a request.
    pub(crate) fn answered(&self, request: u64) {
        if let Some(asked) = locked(&self.asked).remove(&request) {
            // Fails only if the caller no longer waits.
            let _ = asked.send(());
        }
    }

    /// Waits until it has answered a request, which is about to be made.
    pub(crate) fn asked(&self, request: u64) -> impl Future<Output = ()> {
        let (answer, answered) = oneshot::channel();
        locked(&self.asked).insert(request, answer);
        let forgotten = Forgotten { peer: self, request };
        async move {
            // Its other end is dropped only together with the peer, whose node is not alive then.
            let _ = answered.await;
            drop(forgotten);
        }
    }
}

/// Forgets a request when it is dropped.
struct Forgotten<'p> {
    peer: &'p Peer,
    request: u64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        locked(&self.peer.asked).remove(&self.request);
    }
}

impl Up<'_> {
    /// Waits until there is a newer link.
    pub(crate) async fn replaced(&self) {
        self.replaced.cancelled().await;
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        let mut link = locked(&self.peer.link);
        if !self.replaced.is_cancelled() {
            *link = None;
            // Unknown from here on: the peer sends it again over the next link.
            locked(&self.peer.follows).clear();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
