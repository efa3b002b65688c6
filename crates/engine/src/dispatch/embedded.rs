//! The embedded dispatcher: one process, and one worker whose lanes are the owners. It needs no lease and no
//! membership, because the store's file belongs to this process alone.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use entourage_store::{Error as StoreError, Store};
use entourage_types::{AgentId, Backoff, Owner, Time, Wakeup, WakeupId};
use tokio_util::sync::CancellationToken;

use super::{Advance, Dispatcher, Due, Places, order, outage::Outage};
use crate::{
    Clock, Error, Result,
    due::{Limits, Next, PAGE, Page, Work, Worker},
    metrics,
};

/// The settings of the embedded dispatcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The most agents at work at once.
    pub concurrency: usize,
    /// The most agents of one owner at work at once; as many as of all, if none is given.
    pub per_owner: Option<usize>,
    /// How long activations in progress may take to end after the dispatcher is stopped.
    pub grace: Duration,
    /// Consecutive failures after which the dispatcher ends an agent's run.
    pub give_up_after: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { concurrency: 1024, per_owner: None, grace: Duration::from_secs(5), give_up_after: 5 }
    }
}

/// Between attempts at an agent that fails for a cause of its own.
const FAILING: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(64));
/// Between attempts while the store cannot be used.
const UNAVAILABLE: Backoff = Backoff::new(Duration::from_millis(500), LONGEST);
const LONGEST: Duration = Duration::from_secs(30);

/// The embedded dispatcher.
#[derive(Debug, Clone, Default)]
pub struct Embedded {
    settings: Settings,
}

impl Embedded {
    /// A dispatcher with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

#[async_trait]
impl Dispatcher for Embedded {
    async fn run(
        &self,
        engine: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<()> {
        // Subscribe before the first read, so that no wake-up is missed in between.
        let woken = store.woken();
        let work = WakeupWork::new(self.settings.clone(), Arc::clone(&engine), store);
        let mut worker = Worker::new(work, woken, clock);
        worker.look().await?;
        let mut working = worker.run(&stop).await;
        engine.occupied(None);
        // Agents notice the stop at their next step. An activation that does not end in time is aborted,
        // which loses nothing.
        let end =
            tokio::time::timeout(self.settings.grace, async { while working.join_next().await.is_some() {} });
        if end.await.is_err() {
            working.abort_all();
        }
        Ok(())
    }
}

/// Why an activation did not succeed.
enum Failure {
    /// The run's own cause: a run that keeps failing is ended.
    Own(String),
    /// The agent's part of the database is damaged: another attempt cannot read it, either.
    Damaged(String),
    /// It is to be tried again after this time: other agents go first, or the outcome of a commit is unknown.
    NotYet(Duration),
    /// The store is unusable, which is not the fault of a run: the run waits as long as that takes.
    Store(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) if error.is_outage() => Self::Store(error.to_string()),
            Error::Store(error @ StoreError::Damaged(_)) => Self::Damaged(error.to_string()),
            Error::NotYet { after, .. } => Self::NotYet(after),
            // The next activation reads whether the commit happened.
            Error::Store(StoreError::Unknown { .. }) => Self::NotYet(Duration::ZERO),
            error => Self::Own(error.to_string()),
        }
    }
}

/// An agent's consecutive failures, and the cause of the last one.
#[derive(Default)]
struct Failures {
    count: u32,
    cause: String,
    /// Recent consecutive failures because the store was unusable, which `count` does not include.
    outages: u32,
    /// Until when the agent is not tried again.
    until: Option<Time>,
}

/// The work of the dispatcher: a key is an agent, and its lane is its owner.
struct WakeupWork {
    settings: Settings,
    engine: Arc<dyn Advance>,
    store: Arc<dyn Store>,
    failures: HashMap<AgentId, Failures>,
    /// Agents whose part of the database is damaged.
    quarantined: HashSet<AgentId>,
    outage: Outage,
}

impl Work for WakeupWork {
    type Key = AgentId;
    type Lane = Owner;
    type Cursor = (Time, WakeupId);
    type Hint = Arc<[Wakeup]>;
    type Outcome = Result<()>;

    const HORIZON: Duration = Duration::from_secs(60);

    fn limits(&self) -> Limits {
        Limits { in_all: self.settings.concurrency, per_lane: self.settings.per_owner.unwrap_or(usize::MAX) }
    }

    async fn page(&self, until: Time, after: Option<Self::Cursor>) -> Result<Page<Self>> {
        let page = self.store.due(until, after, PAGE).await?;
        let next = page.last().map(order).filter(|_| page.len() == PAGE as usize);
        // Hints of these may have been lost; those that are not due yet cost an agent at work one look at its inbox.
        page.iter().for_each(|wakeup| self.engine.woken(wakeup.agent));
        let wakeups = page.into_iter().filter(|wakeup| !self.quarantined.contains(&wakeup.agent));
        let due = wakeups.map(|wakeup| {
            // Wake-ups of an agent that failed keep their delay, however often they are read.
            let until = self.failures.get(&wakeup.agent).and_then(|failures| failures.until);
            let due = until.map_or(wakeup.due, |until| until.max(wakeup.due));
            (wakeup.agent, wakeup.owner, due)
        });
        Ok(Page { due: due.collect(), next })
    }

    fn unread(&mut self, error: &Error, now: Time) -> Duration {
        self.outage.met(&error.to_string(), now);
        LONGEST
    }

    fn on_hint(&self, wakeups: &Arc<[Wakeup]>, now: Time, mut put: impl FnMut(AgentId, &Owner, Time)) {
        for wakeup in wakeups.iter().filter(|wakeup| !self.quarantined.contains(&wakeup.agent)) {
            put(wakeup.agent, &wakeup.owner, wakeup.due);
            if wakeup.due <= now {
                self.engine.woken(wakeup.agent);
            }
        }
    }

    fn start(&self, agent: AgentId, now: Time) -> impl Future<Output = Result<()>> + Send + 'static {
        let (engine, given_up) = (Arc::clone(&self.engine), self.given_up(agent));
        async move {
            match given_up {
                Some(cause) => engine.give_up(agent, &cause).await,
                None => engine.advance(agent, Due { by: now }).await,
            }
        }
    }

    /// An agent whose activation failed is tried again later; if it keeps failing, its run is ended, and if
    /// ending it fails, that is tried again, too. While the store is unusable, the agent is tried again for as
    /// long as that takes.
    fn ended(&mut self, agent: AgentId, outcome: Result<Result<()>, String>, now: Time) -> Next {
        let failure = match outcome {
            Ok(Ok(())) => {
                self.failures.remove(&agent);
                self.outage.over(now);
                return Next::Done;
            }
            Ok(Err(error)) => Failure::from(error),
            Err(crash) => Failure::Own(crash),
        };
        match failure {
            Failure::Store(cause) => {
                self.outage.met(&cause, now);
                let failures = self.failures.entry(agent).or_default();
                failures.outages += 1;
                let delay = UNAVAILABLE.after(failures.outages);
                self.put_off(agent, now + delay)
            }
            Failure::NotYet(after) => self.put_off(agent, now + after),
            Failure::Damaged(cause) => self.on_corruption(agent, cause, now),
            Failure::Own(cause) => self.on_failure(agent, cause, now),
        }
    }

    fn measure(&self, in_progress: usize, ready: usize) {
        let limit = self.settings.concurrency;
        metrics::dispatched(in_progress, limit, ready);
        self.engine.occupied(Some(Places { busy: in_progress, limit, ready }));
    }
}

impl WakeupWork {
    fn new(settings: Settings, engine: Arc<dyn Advance>, store: Arc<dyn Store>) -> Self {
        let (failures, quarantined) = (HashMap::new(), HashSet::new());
        Self { settings, engine, store, failures, quarantined, outage: Outage::default() }
    }

    /// The cause for which an agent's run is to be ended instead of another attempt, if there is one.
    fn given_up(&self, agent: AgentId) -> Option<String> {
        let failures = self.failures.get(&agent)?;
        (failures.count >= self.settings.give_up_after).then(|| failures.cause.clone())
    }

    /// Ends the run of an agent whose part of the database is damaged. If that cannot be written either,
    /// leaves the agent alone until the next start.
    fn on_corruption(&mut self, agent: AgentId, cause: String, now: Time) -> Next {
        let (failures, limit) = (self.failures.entry(agent).or_default(), self.settings.give_up_after);
        if failures.count < limit {
            tracing::error!(%agent, %cause, "an activation failed because the database is damaged; its run is ended");
            (failures.count, failures.cause) = (limit, cause);
            Next::At(now)
        } else {
            tracing::error!(%agent, %cause, "the run cannot be ended either; it is not tried again");
            self.quarantined.insert(agent);
            Next::Done
        }
    }

    fn on_failure(&mut self, agent: AgentId, cause: String, now: Time) -> Next {
        let failures = self.failures.entry(agent).or_default();
        failures.outages = 0;
        failures.count += 1;
        let (count, limit) = (failures.count, self.settings.give_up_after);
        if count > limit {
            tracing::error!(%agent, %cause, "the run could not be ended either");
        } else {
            tracing::error!(%agent, failures = count, %cause, "an activation failed");
            failures.cause = cause;
        }
        if count == limit {
            return Next::At(now);
        }
        self.put_off(agent, now + FAILING.after(count))
    }

    /// Has an agent that failed tried again at `until`, or earlier if it gets something new to do.
    fn put_off(&mut self, agent: AgentId, until: Time) -> Next {
        self.failures.entry(agent).or_default().until = Some(until);
        Next::At(until)
    }
}
