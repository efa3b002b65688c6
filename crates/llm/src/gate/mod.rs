//! One gate before each model of each account, shared by all agents: a provider's refusal of one call applies
//! to all calls of its owner, so that fifty agents need not each be refused.
//!
//! A caller at a closed gate waits, or, if the wait exceeds a few seconds, gets [`Error::Busy`]: no request
//! was made, and the caller can sleep without occupying memory. A request that a person asks for passes a
//! closed gate, one at a time; if the provider accepts it, the gate opens.
//!
//! Refusals and failures close the gate only for the owner of the call: one owner's input may be what a
//! provider refuses or fails at. If a second owner is refused during the first one's pause, the gate closes
//! for all.

mod breaker;
mod gated;
mod pauses;
mod queue;
mod state;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use entourage_types::Owner;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

pub use gated::{Gated, Gates};
use queue::{Next, Queue};
use state::{Admission, CallEnd, Place, State};

use crate::{Connection, Error, Priority, Reply, Result};

/// The concurrency limit if none is set: the gate finds out how much the provider accepts.
const PLACES: usize = 1000;

/// A gate's state, for metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateState {
    /// The model behind the gate, as `provider::name`.
    pub model: String,
    /// Whether the gate lets calls through.
    pub door: GateStatus,
    /// How many calls are in flight.
    pub in_flight: usize,
    /// How many callers wait.
    pub waiting: usize,
    /// For how many owners the gate is closed because their own calls were refused, or failed too often in a
    /// row.
    pub blocked_owners: usize,
}

/// Whether a gate lets calls through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStatus {
    /// It lets calls through.
    Open,
    /// Closed for this long: the provider asked for a pause and has answered no call since, or the rate limit
    /// is used up.
    Paused(Duration),
    /// Closed for this long to owners whose calls failed too often in a row; no call was answered since.
    Broken(Duration),
}

/// The gate before one model.
#[derive(Debug)]
struct Gate {
    model: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// Only the first call may pass; each call that leaves or changes the state wakes the first.
    queue: Queue,
}

impl Gate {
    fn new(model: String, connection: &Connection, open: bool) -> Self {
        let places = connection.concurrency.unwrap_or(PLACES);
        let state = State::new(places, connection.requests_per_minute, open);
        Self { model, inner: Mutex::new(Inner { state, queue: Queue::default() }) }
    }

    fn state(&self) -> GateState {
        let mut inner = self.lock();
        GateState {
            model: self.model.clone(),
            door: inner.state.door(Instant::now()),
            in_flight: inner.state.in_flight(),
            waiting: inner.queue.len(),
            blocked_owners: inner.state.blocked_owners(Instant::now()),
        }
    }

    fn held_back(&self, owner: &Owner) -> Option<Duration> {
        self.lock().state.held_back(Some(owner), Instant::now())
    }

    /// Waits until the caller may send its request.
    ///
    /// # Errors
    /// [`Error::Busy`] when the wait is known to exceed a few seconds.
    async fn enter(&self, priority: Priority, owner: Option<Owner>) -> Result<Permit<'_>> {
        let mut waiter = Waiter::at(self, priority, owner.clone());
        loop {
            let way = {
                let mut inner = self.lock();
                // Both decisions use the same instant: with two, a call whose hold ends in between would wait
                // without anything to wake it.
                let now = Instant::now();
                let is_first = inner.first(now).is_some_and(|next| next.ticket == waiter.ticket);
                let place = if is_first { Place::First } else { Place::Behind };
                inner.state.enter(now, place, (priority, owner.as_ref()))
            };
            match way {
                Admission::Open(round, began) => {
                    waiter.passed = true;
                    return Ok(Permit { gate: self, owner, round, began, asking: true });
                }
                Admission::Wait(None) => waiter.called.notified().await,
                Admission::Wait(Some(until)) => tokio::select! {
                    () = waiter.called.notified() => {}
                    () = sleep_until(until) => {}
                },
                Admission::Home(after) => return Err(Error::Busy { model: self.model.clone(), after }),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Returns the call that goes next; calls of owners that are held back let others go first.
    fn first(&self, now: Instant) -> Option<Next<'_>> {
        self.queue.next().find(|next| !self.state.holds_back(next.priority, next.owner, now))
    }

    /// Wakes the first call, and the held-back calls that it overtakes, which may not know yet how long they
    /// have to wait.
    fn call_first(&self) {
        let now = Instant::now();
        for next in self.queue.next() {
            next.called.notify_one();
            if !self.state.holds_back(next.priority, next.owner, now) {
                break;
            }
        }
    }
}

/// A place in the queue, given up when dropped.
struct Waiter<'g> {
    gate: &'g Gate,
    priority: Priority,
    ticket: u64,
    called: Arc<Notify>,
    /// Whether the call passed the gate.
    passed: bool,
}

impl<'g> Waiter<'g> {
    fn at(gate: &'g Gate, priority: Priority, owner: Option<Owner>) -> Self {
        let (ticket, called) = gate.lock().queue.join(priority, owner);
        Self { gate, priority, ticket, called, passed: false }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut inner = self.gate.lock();
        inner.queue.leave(self.priority, self.ticket, self.passed);
        inner.call_first();
    }
}

/// A call that passed the gate. Dropped without `ended`, it was cancelled and tells nothing about the
/// provider.
struct Permit<'g> {
    gate: &'g Gate,
    /// The gate's round in which the call began: its outcome tells nothing about a later round.
    round: u64,
    owner: Option<Owner>,
    began: Instant,
    /// Whether the provider has yet to accept the request.
    asking: bool,
}

impl Permit<'_> {
    /// Records that the provider has accepted the request: its answer begins.
    fn accepted(&mut self) {
        if std::mem::take(&mut self.asking) {
            let mut inner = self.gate.lock();
            let wanted = inner.queue.next().next().is_some();
            let call = (self.round, self.owner.as_ref(), self.began);
            inner.state.accepted(Instant::now(), call, wanted);
            inner.call_first();
        }
    }

    /// Records how many more requests the provider says it accepts now.
    fn allowed(&mut self, requests: u32) {
        let mut inner = self.gate.lock();
        inner.state.allowed(self.round, requests as usize);
        inner.call_first();
    }

    /// Records how the call ended.
    fn ended(mut self, result: &Result<Reply>) {
        let sort = match result {
            Err(Error::RateLimited { retry_after, .. }) => CallEnd::Slower(*retry_after),
            Err(Error::Unavailable { retry_after: Some(after), .. }) => CallEnd::Slower(Some(*after)),
            Err(Error::Unavailable { .. } | Error::Unreachable { .. } | Error::TimedOut { .. }) => {
                CallEnd::Down
            }
            // An unusable answer is still an answer of the provider.
            _ => CallEnd::Answered,
        };
        if sort == CallEnd::Answered {
            self.accepted();
        }
        let call = (self.round, self.owner.as_ref(), self.began);
        self.gate.lock().state.ended(Instant::now(), call, sort);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut inner = self.gate.lock();
        inner.state.left(self.round, self.owner.as_ref(), self.began, self.asking);
        inner.call_first();
    }
}
