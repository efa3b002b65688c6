//! The embedded dispatcher: one process, a keyed pool and a delay heap. It needs no lease and no
//! membership, because the store's file belongs to this process alone.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use entourage_store::{Error as StoreError, Store};
use entourage_types::{AgentId, Backoff, Owner, Time, Wakeup, WakeupId};
use tokio::{sync::broadcast::error::RecvError, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Advance, Dispatcher, Due, order, outage::Outage, queue::Queue};
use crate::{Clock, Error, Result, metrics};

/// The settings of the embedded dispatcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The most agents at work at once.
    pub concurrency: usize,
    /// How long activations in progress may take to end after the dispatcher is stopped.
    pub grace: Duration,
    /// Consecutive failures after which the dispatcher ends an agent's run.
    pub give_up_after: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { concurrency: 1024, grace: Duration::from_secs(5), give_up_after: 5 }
    }
}

/// Wake-ups per page, so that a start with many due ones does not hold them all in memory.
const PAGE: u32 = 500;
/// The dispatcher refills the queue from the store when it is shorter than this.
const LOW: usize = 250;
/// How many wake-ups that are not due yet are held in memory, apart from the last page.
const MOST_LATER: usize = 10_000;
/// How far ahead wake-ups are held in memory.
const HORIZON: Duration = Duration::from_secs(60);
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
        let mut woken = store.woken();
        let mut state = State::new(self.settings.clone(), store, clock);
        let mut working: JoinSet<(AgentId, Owner, Result<()>)> = JoinSet::new();
        let mut under_way = HashMap::new();
        state.look().await?;
        while !stop.is_cancelled() {
            state.ripen();
            while state.wants_more() && state.has_looked().await {}
            while working.len() < self.settings.concurrency
                && let Some((agent, owner)) = state.ready.next()
            {
                let (engine, again) = (Arc::clone(&engine), owner.clone());
                let due = Due { by: state.clock.now() };
                let given_up = state.given_up(agent);
                let task = working.spawn(async move {
                    let result = match given_up {
                        Some(cause) => engine.give_up(agent, &cause).await,
                        None => engine.advance(agent, due).await,
                    };
                    (agent, again, result)
                });
                under_way.insert(task.id(), (agent, owner));
            }
            metrics::dispatched(working.len(), self.settings.concurrency, state.ready.len());
            let next = state.next_look();
            tokio::select! {
                Some(ended) = working.join_next_with_id() => {
                    let (agent, owner, failure) = match ended {
                        Ok((id, (agent, owner, result))) => {
                            under_way.remove(&id);
                            (agent, owner, result.err().map(Failure::from))
                        }
                        Err(died) => match under_way.remove(&died.id()) {
                            Some((agent, owner)) => (agent, owner, Some(Failure::Own(format!("it crashed: {died}")))),
                            None => continue,
                        },
                    };
                    state.ended(agent, owner, failure);
                }
                hint = woken.recv() => match hint {
                    Ok(wakeups) => state.woken(&wakeups),
                    Err(RecvError::Lagged(_)) => state.look_again().await,
                    Err(RecvError::Closed) => break,
                },
                () = state.clock.sleep_until(next) => {
                    if state.horizon <= state.clock.now() {
                        state.look_again().await;
                    }
                }
                () = stop.cancelled() => {}
            }
        }
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

/// What the dispatcher holds in memory; all of it can be read again from the store.
struct State {
    settings: Settings,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ready: Queue,
    later: BinaryHeap<Reverse<(Time, WakeupId, AgentId, Owner)>>,
    failures: HashMap<AgentId, Failures>,
    /// Agents whose part of the database is damaged.
    left_alone: HashSet<AgentId>,
    outage: Outage,
    /// Up to where due wake-ups have been read.
    cursor: Option<(Time, WakeupId)>,
    /// Whether the store has more than was read.
    more: bool,
    /// Once `more` is false, all wake-ups that are due up to this time are in memory.
    horizon: Time,
}

impl State {
    fn new(settings: Settings, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let horizon = clock.now() + HORIZON;
        Self {
            settings,
            store,
            clock,
            ready: Queue::default(),
            later: BinaryHeap::new(),
            failures: HashMap::new(),
            left_alone: HashSet::new(),
            outage: Outage::default(),
            cursor: None,
            more: true,
            horizon,
        }
    }

    /// Reads the next page of wake-ups up to the horizon.
    async fn look(&mut self) -> Result<()> {
        let page = self.store.due(self.horizon, self.cursor, PAGE).await?;
        self.more = page.len() == PAGE as usize;
        self.cursor = page.last().map(order).or(self.cursor);
        for mut wakeup in page {
            // Wake-ups of an agent that failed keep their delay, however often they are read.
            let until = self.failures.get(&wakeup.agent).and_then(|failures| failures.until);
            wakeup.due = until.map_or(wakeup.due, |until| until.max(wakeup.due));
            self.take(&wakeup);
        }
        Ok(())
    }

    /// Whether to read another page: the wake-ups of those before may all be of agents that are at work or left
    /// alone.
    fn wants_more(&self) -> bool {
        self.more && self.ready.len() < LOW && self.later.len() < MOST_LATER
    }

    /// Reads from the beginning again, with a later horizon.
    async fn look_again(&mut self) {
        self.horizon = self.clock.now() + HORIZON;
        self.cursor = None;
        self.later.clear();
        self.has_looked().await;
    }

    /// Reads the next page and returns true; if the store cannot be read, schedules another read after
    /// `LONGEST`.
    async fn has_looked(&mut self) -> bool {
        let looked = self.look().await;
        if let Err(error) = &looked {
            let now = self.clock.now();
            self.outage.met(&error.to_string(), now);
            self.horizon = now + LONGEST;
        }
        looked.is_ok()
    }

    fn woken(&mut self, wakeups: &[Wakeup]) {
        let horizon = self.horizon;
        for wakeup in wakeups.iter().filter(|wakeup| wakeup.due <= horizon) {
            self.take(wakeup);
        }
    }

    fn take(&mut self, wakeup: &Wakeup) {
        if self.left_alone.contains(&wakeup.agent) {
            return;
        }
        if wakeup.due <= self.clock.now() {
            self.ready.wake(wakeup.agent, &wakeup.owner);
        } else {
            self.later.push(Reverse((wakeup.due, wakeup.id, wakeup.agent, wakeup.owner.clone())));
        }
    }

    /// Moves the wake-ups that are due into the queue.
    fn ripen(&mut self) {
        let now = self.clock.now();
        while self.later.peek().is_some_and(|Reverse((due, ..))| *due <= now) {
            if let Some(Reverse((_, _, agent, owner))) = self.later.pop() {
                self.ready.wake(agent, &owner);
            }
        }
    }

    /// When to continue: when the next wake-up is due, or at the horizon.
    fn next_look(&self) -> Time {
        self.later.peek().map_or(self.horizon, |Reverse((due, ..))| (*due).min(self.horizon))
    }

    /// The cause for which an agent's run is to be ended instead of another attempt, if there is one.
    fn given_up(&self, agent: AgentId) -> Option<String> {
        let failures = self.failures.get(&agent)?;
        (failures.count >= self.settings.give_up_after).then(|| failures.cause.clone())
    }

    /// Ends the run of an agent whose part of the database is damaged. If that cannot be written either,
    /// leaves the agent alone until the next start.
    fn met_damage(&mut self, agent: AgentId, owner: &Owner, cause: String) {
        let (failures, limit) = (self.failures.entry(agent).or_default(), self.settings.give_up_after);
        if failures.count < limit {
            tracing::error!(%agent, %cause, "an activation failed because the database is damaged; its run is ended");
            (failures.count, failures.cause) = (limit, cause);
            self.ready.wake(agent, owner);
        } else {
            tracing::error!(%agent, %cause, "the run cannot be ended either; it is not tried again");
            self.left_alone.insert(agent);
        }
    }

    /// Handles the end of an activation. An agent whose activation failed is tried again later; if it keeps
    /// failing, its run is ended, and if ending it fails, that is tried again, too. While the store is
    /// unusable, the agent is tried again for as long as that takes.
    fn ended(&mut self, agent: AgentId, owner: Owner, failure: Option<Failure>) {
        self.ready.done(agent);
        let now = self.clock.now();
        let cause = match failure {
            None => {
                self.failures.remove(&agent);
                self.outage.over(now);
                return;
            }
            Some(Failure::Store(cause)) => {
                self.outage.met(&cause, now);
                let failures = self.failures.entry(agent).or_default();
                failures.outages += 1;
                let delay = UNAVAILABLE.after(failures.outages);
                return self.put_off(agent, owner, now + delay);
            }
            Some(Failure::NotYet(after)) => return self.put_off(agent, owner, now + after),
            Some(Failure::Damaged(cause)) => return self.met_damage(agent, &owner, cause),
            Some(Failure::Own(cause)) => cause,
        };
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
            self.ready.wake(agent, &owner);
            return;
        }
        self.put_off(agent, owner, now + FAILING.after(count));
    }

    /// Has an agent that failed tried again at `until`, or earlier if it gets something new to do.
    fn put_off(&mut self, agent: AgentId, owner: Owner, until: Time) {
        self.failures.entry(agent).or_default().until = Some(until);
        self.later.push(Reverse((until, WakeupId::new(), agent, owner)));
    }
}
