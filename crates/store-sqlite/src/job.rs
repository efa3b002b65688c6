//! A job of the writer, and what its caller and the subscribers get once it is done.

use std::sync::Arc;

use entourage_store::{Commit, Committed, CommittedEvents, Error};
use entourage_types::{AgentId, Wakeup};
use tokio::sync::{broadcast, oneshot};

use crate::claim::Claimed;

/// The senders of hints to subscribers.
#[derive(Debug, Clone)]
pub(crate) struct Hints {
    pub(crate) changed: broadcast::Sender<Arc<CommittedEvents>>,
    pub(crate) woken: broadcast::Sender<Arc<[Wakeup]>>,
}

impl Hints {
    /// Buffers this many hints for a subscriber.
    pub(crate) fn new(kept: usize) -> Self {
        Self { changed: broadcast::Sender::new(kept), woken: broadcast::Sender::new(kept) }
    }

    fn tell(&self, done: &mut Done) {
        // Sending fails without a subscriber, which is no error.
        let wakeups = std::mem::take(&mut done.wakeups);
        if !wakeups.is_empty() {
            let _ = self.woken.send(wakeups.into());
        }
        let changed = std::mem::take(&mut done.changed);
        if !changed.events.is_empty() {
            let _ = self.changed.send(Arc::new(changed));
        }
    }
}

/// The result that a caller gets.
pub(crate) type Reply<T> = std::result::Result<T, Error>;

/// Something to write, and where to send its hints and its result once it is durable.
pub(crate) struct Job {
    pub(crate) work: Work,
    /// The senders to the handle's own subscribers.
    pub(crate) hints: Hints,
    pub(crate) author: oneshot::Sender<Reply<Done>>,
}

impl Job {
    /// Sends the hints to the subscribers, then the result to the caller, which may no longer wait for it.
    pub(crate) fn answer(self, outcome: Reply<Done>) {
        let outcome = outcome.map(|mut done| {
            self.hints.tell(&mut done);
            done
        });
        let _ = self.author.send(outcome);
    }
}

pub(crate) enum Work {
    Commit(Commit),
    Claim(AgentId),
    /// Tries whether commits can be written.
    Probe,
}

/// The result of a job: a commit fills in all but the last field, a claim the last one.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) committed: Committed,
    pub(crate) changed: CommittedEvents,
    pub(crate) wakeups: Vec<Wakeup>,
    pub(crate) claimed: Option<Claimed>,
}
