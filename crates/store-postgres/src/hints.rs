//! Hints of the commits through one handle: in order within each tree, whichever connection answers first.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use entourage_store::CommittedEvents;
use entourage_types::{AgentId, Wakeup};
use tokio::sync::{broadcast, watch};

use crate::apply::Applied;

/// The number of hints buffered for a subscriber; one that lags further reads the facts again.
const HINTS: usize = 1024;

/// The hints of a handle.
pub(crate) struct Hints {
    pub(crate) changed: broadcast::Sender<Arc<CommittedEvents>>,
    pub(crate) woken: broadcast::Sender<Arc<[Wakeup]>>,
    /// The last commit of each tree that has not sent its hints yet.
    lines: Mutex<HashMap<AgentId, watch::Receiver<()>>>,
}

/// The place of a commit among those of its trees. Taken while the commit holds the rows of the trees, so that places are
/// in the order of the events' numbers.
pub(crate) struct Place {
    trees: BTreeSet<AgentId>,
    before: Vec<watch::Receiver<()>>,
    /// Dropped when the hints were sent, or never will be.
    sent: watch::Sender<()>,
}

impl Hints {
    pub(crate) fn new() -> Self {
        Self {
            changed: broadcast::Sender::new(HINTS),
            woken: broadcast::Sender::new(HINTS),
            lines: Mutex::default(),
        }
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, HashMap<AgentId, watch::Receiver<()>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next place in each of these trees.
    pub(crate) fn place(&self, trees: BTreeSet<AgentId>) -> Place {
        let (sent, is_sent) = watch::channel(());
        let mut lines = self.lines();
        let before = trees.iter().filter_map(|tree| lines.insert(*tree, is_sent.clone())).collect();
        drop(lines);
        Place { trees, before, sent }
    }

    /// Sends the hints of a commit that is durable, after those of the commits before it.
    pub(crate) async fn send(&self, place: Place, applied: Applied) {
        for mut before in place.before.iter().cloned() {
            // It never changes: the other side is dropped.
            while before.changed().await.is_ok() {}
        }
        // Sending fails without a subscriber, which is no error.
        if !applied.wakeups.is_empty() {
            let _ = self.woken.send(applied.wakeups.into());
        }
        if !applied.events.is_empty() {
            let _ = self.changed.send(Arc::new(CommittedEvents { events: applied.events }));
        }
        self.end(place);
    }

    /// Gives up a place.
    pub(crate) fn end(&self, place: Place) {
        let Place { trees, sent, .. } = place;
        let mine = sent.subscribe();
        let mut lines = self.lines();
        for tree in trees {
            if lines.get(&tree).is_some_and(|last| last.same_channel(&mine)) {
                lines.remove(&tree);
            }
        }
    }
}
