//! The `Dispatcher` trait: a dispatcher delivers wake-ups to `advance(agent)`, one at a time per agent.
//!
//! Correctness never depends on the dispatcher: wake-ups are rows, delivering a served one is a no-op, and
//! the epoch fences the rest. An implementation is a dispatcher if it passes [`conformance`].

pub mod conformance;
mod embedded;
mod failures;
mod outage;
mod shared;
mod wakeups;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use entourage_store::Store;
use entourage_types::{AgentId, Time, Wakeup};
use tokio_util::sync::CancellationToken;

use crate::{Clock, Engine, Result, metrics};

pub use embedded::{Embedded, Settings};
pub use failures::Failures;
pub use outage::Outage;
pub use shared::{HandOver, Shared};

/// Which wake-ups a dispatcher delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The time of the node that dispatches. Its receiver treats all that is due by then as due, even if its own
    /// clock is behind; otherwise it would put the agent to sleep again. A node whose clock is ahead shortens
    /// waits by as much, so nodes keep their clocks together.
    pub by: Time,
}

/// How many agents a dispatcher has at work, and how many it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Places {
    /// How many agents are at work.
    pub busy: usize,
    /// How many may be at work at once.
    pub limit: usize,
    /// How many agents wait for a place.
    pub ready: usize,
}

/// Receives wake-ups.
#[async_trait]
pub trait Advance: Send + Sync + 'static {
    /// Activates an agent, which goes on as far as it can.
    ///
    /// # Errors
    /// What kept the agent from going on; the dispatcher delivers the wake-up again. While the store is
    /// unusable ([`entourage_store::Error::is_outage`]), that is no failure of the agent, however long it
    /// takes.
    async fn advance(&self, agent: AgentId, due: Due) -> Result<()>;

    /// Ends the run of an agent whose activations keep failing.
    ///
    /// # Errors
    /// When even that failed.
    async fn give_up(&self, agent: AgentId, cause: &str) -> Result<()>;

    /// Whether this agent is advanced here at all. Where nodes share a store, others advance the rest.
    ///
    /// # Errors
    /// When that cannot be read.
    async fn concerns(&self, _agent: AgentId) -> Result<bool> {
        Ok(true)
    }

    /// Tells an agent that is at work that something is due for it, which it may read before its activation ends. A hint:
    /// without it, the agent reads that later.
    fn woken(&self, agent: AgentId);

    /// Takes note of the dispatcher's places; of none once it no longer delivers. A hint for people.
    fn occupied(&self, _places: Option<Places>) {}
}

#[async_trait]
impl Advance for Engine {
    async fn advance(&self, agent: AgentId, due: Due) -> Result<()> {
        self.advance_by(agent, due).await
    }

    async fn give_up(&self, agent: AgentId, cause: &str) -> Result<()> {
        Engine::give_up(self, agent, cause).await
    }

    fn woken(&self, agent: AgentId) {
        self.inner.activations.wake(agent);
    }

    fn occupied(&self, places: Option<Places>) {
        if let Some(Places { busy, limit, ready }) = places {
            metrics::dispatched(busy, limit, ready);
        }
        self.inner.places.set(places);
    }
}

impl Engine {
    /// The places of this process's dispatcher; none if it has no dispatcher at work.
    #[must_use]
    pub fn places(&self) -> Option<Places> {
        self.inner.places.get()
    }
}

/// What the dispatcher reported last.
#[derive(Debug, Default)]
pub(crate) struct LastPlaces(Mutex<Option<Places>>);

impl LastPlaces {
    fn set(&self, places: Option<Places>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = places;
    }

    fn get(&self) -> Option<Places> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Delivers wake-ups until it is stopped.
#[async_trait]
pub trait Dispatcher: Send + Sync {
    /// Delivers every wake-up of the store to `engine`, at its time or after, at least once, one at a time
    /// per agent. Returns once `stop` is cancelled and the activations in progress have ended or their time
    /// of grace is over.
    ///
    /// # Errors
    /// When the store cannot be read at all.
    async fn run(
        &self,
        engine: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<()>;
}

/// The order of delivery: by time, then by id.
pub(crate) fn order(wakeup: &Wakeup) -> (entourage_types::Time, entourage_types::WakeupId) {
    (wakeup.due, wakeup.id)
}
