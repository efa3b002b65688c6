//! Restate's calls at this node: how many agents are at work, and what follows when one fails.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use entourage_engine::{
    Clock, Error as EngineError, Result as EngineResult,
    dispatch::{Advance, Due, Failures, Places},
};
use entourage_store::Store;
use entourage_types::{AgentId, DatabaseId, Time};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    Settings,
    agent::{Delivery, VERSION},
};

/// The calls in progress, and what this node remembers of those that failed.
pub(crate) struct Deliveries {
    /// Whose agents are served here; none if calls do not say whose they are.
    database: Option<DatabaseId>,
    foreign: Once,
    engine: Arc<dyn Advance>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    failures: Mutex<Failures>,
    /// The agents for which a call is in progress here.
    called: Mutex<HashSet<AgentId>>,
    limit: usize,
    places: Semaphore,
    /// How many wait for a place.
    ready: AtomicUsize,
    /// Cancelled when this node takes no more calls.
    stop: CancellationToken,
    /// Cancelled when its activations are cut.
    over: CancellationToken,
}

/// Why Restate is to call again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotNow {
    /// The node is about to end.
    #[error("this node is about to end; another one goes on")]
    Ending,
    /// Another node sent what this one does not know.
    #[error("this node is too old for this delivery")]
    TooOld,
    /// Nodes of another database are registered with the same Restate.
    #[error("this process serves the agents of another database: each needs a Restate of its own")]
    OtherDatabase,
    /// It did not succeed.
    #[error("the agent is to be tried again later; the log of the node says why")]
    Later,
}

/// A call in progress, until dropped.
struct Called<'d>(&'d Deliveries, AgentId);

impl Drop for Called<'_> {
    fn drop(&mut self) {
        locked(&self.0.called).remove(&self.1);
    }
}

/// One that waits for a place, until dropped.
struct Waiting<'d>(&'d Deliveries);

impl<'d> Waiting<'d> {
    fn new(deliveries: &'d Deliveries) -> Self {
        deliveries.ready.fetch_add(1, Ordering::Relaxed);
        Self(deliveries)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.ready.fetch_sub(1, Ordering::Relaxed);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deliveries {
    pub(crate) fn new(
        settings: &Settings,
        database: Option<DatabaseId>,
        (engine, store, clock): (Arc<dyn Advance>, Arc<dyn Store>, Arc<dyn Clock>),
        (stop, over): (CancellationToken, CancellationToken),
    ) -> Self {
        let limit = settings.concurrency.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self {
            database,
            foreign: Once::new(),
            engine,
            store,
            clock,
            failures: Mutex::new(Failures::new(settings.give_up_after)),
            called: Mutex::default(),
            limit,
            places: Semaphore::new(limit),
            ready: AtomicUsize::new(0),
            stop,
            over,
        }
    }

    /// Whether agents of this database are served here. If not, the log says so once: the other one's would be served
    /// where its processes are registered with a Restate of their own.
    pub(crate) fn serves(&self, database: Option<&str>) -> bool {
        let is_ours = self.database.map(|ours| ours.to_string()).as_deref() == database;
        if !is_ours {
            self.foreign.call_once(|| {
                tracing::warn!(
                    "Restate calls here for agents of another database, which wait: each database needs a Restate of its own"
                );
            });
        }
        is_ours
    }

    /// What this node remembers of activations that failed.
    pub(crate) fn failures(&self) -> MutexGuard<'_, Failures> {
        locked(&self.failures)
    }

    /// Whether a call for the agent is in progress here.
    pub(crate) fn has(&self, agent: AgentId) -> bool {
        locked(&self.called).contains(&agent)
    }

    /// Tells an agent that is at work here that something is due for it.
    pub(crate) fn woken(&self, agent: AgentId) {
        self.engine.woken(agent);
    }

    /// Advances an agent for one call of Restate. Dropping it cuts the activation.
    pub(crate) async fn deliver(&self, agent: AgentId, delivery: Delivery) -> Result<(), NotNow> {
        if delivery.version > VERSION {
            return Err(NotNow::TooOld);
        }
        locked(&self.called).insert(agent);
        let _called = Called(self, agent);
        loop {
            let outcome = tokio::select! {
                biased;
                () = self.over.cancelled() => return Err(NotNow::Ending),
                outcome = self.attempt(agent, delivery.due) => outcome?,
            };
            // A person has the next word, whose message calls anew: Restate would keep it behind this call.
            if let Ok(Err(EngineError::LeftOpen { .. })) = outcome {
                return Ok(());
            }
            let now = self.clock.now();
            let again = self.failures().ended(agent, outcome, now);
            match again {
                // An activation that ended because this node does has left the rest to another one.
                None if self.stop.is_cancelled() => return Err(NotNow::Ending),
                None => return Ok(()),
                Some(at) if at <= now => {}
                Some(_) => return Err(NotNow::Later),
            }
        }
    }

    /// Advances the agent, or ends its run if that has failed too often. The error within is the message of a panic.
    async fn attempt(&self, agent: AgentId, due: Time) -> Result<Result<EngineResult<()>, String>, NotNow> {
        // Of many calls for a busy agent, one has something to do: none of the others needs a place, or a claim.
        match self.store.is_due(agent, self.by(due)).await {
            Ok(true) if self.failures().is_left_alone(agent) => return Ok(Ok(Ok(()))),
            Ok(true) => {}
            Ok(false) => return Ok(Ok(Ok(()))),
            Err(error) => return Ok(Ok(Err(error.into()))),
        }
        let waiting = Waiting::new(self);
        let place = tokio::select! {
            biased;
            () = self.stop.cancelled() => {
                // Restate would call again here while it has this connection. Once that is gone, it calls another node.
                self.over.cancelled().await;
                return Err(NotNow::Ending);
            }
            place = self.places.acquire() => place.map_err(|_| NotNow::Ending)?,
        };
        drop(waiting);
        self.measure();
        let (engine, given_up) = (Arc::clone(&self.engine), self.failures().given_up(agent));
        let due = Due { by: self.by(due) };
        // A task of its own: what panics in it is a failure of this agent.
        let task = tokio::spawn(async move {
            match given_up {
                Some(cause) => engine.give_up(agent, &cause).await,
                None => engine.advance(agent, due).await,
            }
        });
        let outcome = AbortOnDropHandle::new(task).await;
        drop(place);
        self.measure();
        Ok(outcome.map_err(|crash| match crash.try_into_panic() {
            Ok(panic) => message(&*panic),
            Err(cut) => cut.to_string(),
        }))
    }

    /// Waits until no agent is at work here. None begins its work from then on.
    pub(crate) async fn idle(&self) {
        let all = u32::try_from(self.limit).unwrap_or(u32::MAX);
        // It fails where it is closed, which it never is.
        if let Ok(places) = self.places.acquire_many(all).await {
            places.forget();
        }
    }

    /// The moment by which this node judges what is due. Another node's clock may be ahead.
    fn by(&self, due: Time) -> Time {
        due.max(self.clock.now())
    }

    fn measure(&self) {
        let busy = self.limit.saturating_sub(self.places.available_permits());
        let ready = self.ready.load(Ordering::Relaxed);
        self.engine.occupied(Some(Places { busy, limit: self.limit, ready }));
    }
}

/// The words of a panic.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("without a message"))
}
