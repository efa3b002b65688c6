//! One gate before each model of each account, shared by all agents: what the provider said to one
//! of an owner's holds for all of them, so that fifty do not have to be told the same.
//!
//! Who comes to a closed gate waits, or, where the wait is worth more than a moment, is sent home
//! with [`Error::Busy`]: no request was made, and the caller can sleep elsewhere than in memory. A request
//! that a person asks for passes a closed gate, one at a time: where the provider takes it, the gate opens.
//!
//! Refusals and failures close it for the owner alone whose calls they are: what somebody writes may be what a
//! provider refuses or fails at. Where a second owner is refused meanwhile, nobody passes.

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
use state::{Sort, State, Way};

use crate::{Connection, Error, Priority, Reply, Result};

/// Calls at once where nothing is set: what a provider can take is found out on the way.
const PLACES: usize = 1000;

/// A gate as it stands, for whoever measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateState {
    /// Before which model, as `provider::name`.
    pub model: String,
    /// Whether anybody is let through.
    pub door: Door,
    /// How many calls are under way behind it.
    pub in_flight: usize,
    /// How many callers wait before it.
    pub waiting: usize,
    /// For how many owners it is closed, since their own calls were refused, or failed too often in a row.
    pub kept_away: usize,
}

/// Whether a gate lets anybody through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// It does.
    Open,
    /// Not for this long: the provider asked for a pause and has answered nobody since, or the rate is used up.
    Paused(Duration),
    /// Not for this long, for those whose calls failed too often in a row; nobody was answered since.
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
    /// Only the first may pass; whoever leaves or changes the state wakes the first.
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
            kept_away: inner.state.kept_away(Instant::now()),
        }
    }

    /// Returns once the caller may ask.
    ///
    /// # Errors
    /// [`Error::Busy`] when that is known to take longer than a moment.
    async fn enter(&self, priority: Priority, owner: Option<Owner>) -> Result<Pass<'_>> {
        let mut place = Place::at(self, priority, owner.clone());
        loop {
            let way = {
                let mut inner = self.lock();
                // By one moment: whoever was held back until between two would wait for nobody.
                let now = Instant::now();
                let first = inner.first(now).is_some_and(|next| next.ticket == place.ticket);
                inner.state.enter(now, first, (priority, owner.as_ref()))
            };
            match way {
                Way::Layered(round, began) => {
                    place.passed = true;
                    return Ok(Pass { gate: self, owner, round, began, asking: true });
                }
                Way::Wait(None) => place.called.notified().await,
                Way::Wait(Some(until)) => tokio::select! {
                    () = place.called.notified() => {}
                    () = sleep_until(until) => {}
                },
                Way::Home(after) => return Err(Error::Busy { model: self.model.clone(), after }),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The call that goes next: those of owners that are held back let others go first.
    fn first(&self, now: Instant) -> Option<Next<'_>> {
        self.queue.next().find(|next| !self.state.holds_back(next.priority, next.owner, now))
    }

    /// Calls the first, and those it goes before, which may not know yet how long they wait.
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
struct Place<'g> {
    gate: &'g Gate,
    priority: Priority,
    ticket: u64,
    called: Arc<Notify>,
    /// Whether it was let through.
    passed: bool,
}

impl<'g> Place<'g> {
    fn at(gate: &'g Gate, priority: Priority, owner: Option<Owner>) -> Self {
        let (ticket, called) = gate.lock().queue.join(priority, owner);
        Self { gate, priority, ticket, called, passed: false }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut inner = self.gate.lock();
        inner.queue.leave(self.priority, self.ticket, self.passed);
        inner.call_first();
    }
}

/// A call behind the gate; dropped without a word, it was cut off and says nothing of the provider.
struct Pass<'g> {
    gate: &'g Gate,
    /// Which stretch between two closings it began in: what it meets says nothing of a later one.
    round: u64,
    owner: Option<Owner>,
    began: Instant,
    /// Whether the provider has yet to take the request.
    asking: bool,
}

impl Pass<'_> {
    /// The provider has taken the request: its answer begins.
    fn accepted(&mut self) {
        if std::mem::take(&mut self.asking) {
            let mut inner = self.gate.lock();
            let wanted = inner.queue.next().next().is_some();
            let call = (self.round, self.owner.as_ref(), self.began);
            inner.state.accepted(Instant::now(), call, wanted);
            inner.call_first();
        }
    }

    /// The provider says how many more requests it takes now.
    fn allowed(&mut self, requests: u32) {
        let mut inner = self.gate.lock();
        inner.state.allowed(self.round, requests as usize);
        inner.call_first();
    }

    /// How the call ended.
    fn ended(mut self, result: &Result<Reply>) {
        let sort = match result {
            Err(Error::RateLimited { retry_after, .. }) => Sort::Slower(*retry_after),
            Err(Error::Unavailable { retry_after: Some(after), .. }) => Sort::Slower(Some(*after)),
            Err(Error::Unavailable { .. } | Error::Unreachable { .. } | Error::TimedOut { .. }) => Sort::Down,
            // An answer that is no good was given all the same.
            _ => Sort::Answered,
        };
        if sort == Sort::Answered {
            self.accepted();
        }
        let call = (self.round, self.owner.as_ref(), self.began);
        self.gate.lock().state.ended(Instant::now(), call, sort);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut inner = self.gate.lock();
        inner.state.left(self.round, self.owner.as_ref(), self.began, self.asking);
        inner.call_first();
    }
}
