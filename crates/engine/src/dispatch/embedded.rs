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
use entourage_types::{AgentId, Owner, Time, Wakeup, WakeupId};
use tokio::{sync::broadcast::error::RecvError, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Advance, Dispatcher, order, outage::Outage, queue::Queue};
use crate::{Clock, Error, Result, metrics};

/// How the embedded dispatcher works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Agents at work at once.
    pub concurrency: usize,
    /// How long those under way may take to end once it is told to stop.
    pub grace: Duration,
    /// Failures in a row after which an agent's run is ended.
    pub give_up_after: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { concurrency: 1024, grace: Duration::from_secs(5), give_up_after: 5 }
    }
}

/// How many wake-ups are read at once; a start with many due does not hold them all in memory.
const PAGE: u32 = 500;
/// The line is filled up again from the store when it is shorter than this.
const LOW: usize = 250;
/// How far ahead wake-ups are held in memory.
const HORIZON: Duration = Duration::from_secs(60);
/// The delay after a first failure; it doubles from there.
const BACKOFF: Duration = Duration::from_millis(500);
/// The longest delay while the store cannot be used.
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
        // Subscribed before the first look, so that nothing falls in between.
        let mut woken = store.woken();
        let mut state = State::new(self.settings.clone(), store, clock);
        let mut working: JoinSet<(AgentId, Owner, Result<()>)> = JoinSet::new();
        let mut under_way = HashMap::new();
        state.look().await?;
        while !stop.is_cancelled() {
            state.ripen();
            while working.len() < self.settings.concurrency
                && let Some((agent, owner)) = state.ready.next()
            {
                let (engine, again) = (Arc::clone(&engine), owner.clone());
                let given_up = state.given_up(agent);
                let task = working.spawn(async move {
                    let result = match given_up {
                        Some(cause) => engine.give_up(agent, &cause).await,
                        None => engine.advance(agent).await,
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
                    if state.more && state.ready.len() < LOW {
                        let looked = state.look().await;
                        state.looked(looked);
                    }
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
        // Agents notice the end at their next step; whoever does not is cut off, and loses nothing.
        let end =
            tokio::time::timeout(self.settings.grace, async { while working.join_next().await.is_some() {} });
        if end.await.is_err() {
            working.abort_all();
        }
        Ok(())
    }
}

/// Why an activation came to nothing.
enum Failure {
    /// For a cause of its own: one that keeps failing is ended.
    Own(String),
    /// What the agent needs of the store is damaged: no other attempt reads it, either.
    Damaged(String),
    /// Others go first.
    NotYet(Duration),
    /// The store cannot be used, which is no fault of any run: it waits as long as that takes.
    Store(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) if error.is_outage() => Self::Store(error.to_string()),
            Error::Store(error @ StoreError::Damaged(_)) => Self::Damaged(error.to_string()),
            Error::NotYet { after, .. } => Self::NotYet(after),
            // The next activation reads whether it happened.
            Error::Store(StoreError::Unknown { .. }) => Self::NotYet(Duration::ZERO),
            error => Self::Own(error.to_string()),
        }
    }
}

/// How often in a row an agent's activations failed, and why the last of them did.
#[derive(Default)]
struct Failures {
    count: u32,
    cause: String,
    /// How often in a row, of late, that was for the store's sake; those do not count.
    outages: u32,
    /// Until when it is put off.
    until: Option<Time>,
}

/// What the dispatcher holds in memory; all of it can be read again.
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
    /// Until when all wake-ups are in memory, once there are no more to read.
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
            // What an agent failed at before is no news, however often it is read.
            let until = self.failures.get(&wakeup.agent).and_then(|failures| failures.until);
            wakeup.due = until.map_or(wakeup.due, |until| until.max(wakeup.due));
            self.take(&wakeup);
        }
        Ok(())
    }

    /// Begins reading anew, with a later horizon.
    async fn look_again(&mut self) {
        self.horizon = self.clock.now() + HORIZON;
        self.cursor = None;
        self.later.clear();
        let looked = self.look().await;
        self.looked(looked);
    }

    /// Where the store could not be read, it is read anew before long.
    fn looked(&mut self, looked: Result<()>) {
        if let Err(error) = looked {
            let now = self.clock.now();
            self.outage.met(&error.to_string(), now);
            self.horizon = now + LONGEST;
        }
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

    /// Puts those whose time has come into the line.
    fn ripen(&mut self) {
        let now = self.clock.now();
        while self.later.peek().is_some_and(|Reverse((due, ..))| *due <= now) {
            if let Some(Reverse((_, _, agent, owner))) = self.later.pop() {
                self.ready.wake(agent, &owner);
            }
        }
    }

    /// When to look up next: at the next one's time, or at the horizon.
    fn next_look(&self) -> Time {
        self.later.peek().map_or(self.horizon, |Reverse((due, ..))| (*due).min(self.horizon))
    }

    /// Why an agent is not tried again: its run is ended instead.
    fn given_up(&self, agent: AgentId) -> Option<String> {
        let failures = self.failures.get(&agent)?;
        (failures.count >= self.settings.give_up_after).then(|| failures.cause.clone())
    }

    /// A run that met a damaged database is ended, where that can be written; otherwise the agent is left
    /// alone until the next start.
    fn met_damage(&mut self, agent: AgentId, owner: &Owner, cause: String) {
        let (failures, limit) = (self.failures.entry(agent).or_default(), self.settings.give_up_after);
        if failures.count < limit {
            tracing::error!(%agent, %cause, "an activation met a damaged database; its run is ended");
            (failures.count, failures.cause) = (limit, cause);
            self.ready.wake(agent, owner);
        } else {
            tracing::error!(%agent, %cause, "the run cannot be ended either; it is not tried again");
            self.left_alone.insert(agent);
        }
    }

    /// An activation has ended. One that failed is tried again later, and ended for good when that
    /// keeps happening; so is the ending itself. One that failed with the store is tried again for as long
    /// as that takes.
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
                let delay = BACKOFF.saturating_mul(1 << failures.outages.min(7)).min(LONGEST);
                failures.outages += 1;
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
        let delay = BACKOFF.saturating_mul(1 << (count - 1).min(7));
        self.put_off(agent, owner, now + delay);
    }

    /// An agent that failed is tried again then, or once it has something new to do.
    fn put_off(&mut self, agent: AgentId, owner: Owner, until: Time) {
        self.failures.entry(agent).or_default().until = Some(until);
        self.later.push(Reverse((until, WakeupId::new(), agent, owner)));
    }
}
