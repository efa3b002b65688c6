//! How often in a row the activations of agents failed, and what follows: another attempt, or the end of the run.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use entourage_store::Error as StoreError;
use entourage_types::{AgentId, Backoff, Time};

use super::Outage;
use crate::{Error, Result};

/// Between attempts at an agent that fails for a cause of its own.
const FAILING: Backoff = Backoff::new(Duration::from_millis(500), LONGEST_PAUSE);
/// The longest pause between attempts at an agent.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);
/// The pause before a run that is left open for a person is looked at again. What the person posts is read at once.
const LEFT: Duration = Duration::from_secs(60);
/// Between attempts while the store cannot be used.
const UNAVAILABLE: Backoff = Backoff::new(Duration::from_millis(500), LONGEST);
/// The longest pause while the store cannot be used.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// What a dispatcher remembers of activations that failed. It ends with the process: ends of processes are counted in
/// the store.
#[derive(Debug)]
pub struct Failures {
    give_up_after: u32,
    agents: HashMap<AgentId, Failed>,
    /// Agents whose part of the database is damaged.
    quarantined: HashSet<AgentId>,
    outage: Outage,
}

/// An agent's consecutive failures, and the cause of the last one.
#[derive(Debug, Default)]
struct Failed {
    count: u32,
    cause: String,
    /// Recent consecutive failures because the store was unusable, which `count` does not include.
    outages: u32,
    /// Until when the agent is not tried again.
    until: Option<Time>,
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
            Error::LeftOpen { .. } => Self::NotYet(LEFT),
            // The next activation reads whether the commit happened.
            Error::Store(StoreError::Unknown { .. }) => Self::NotYet(Duration::ZERO),
            error => Self::Own(error.to_string()),
        }
    }
}

impl Failures {
    /// No failures so far. After so many consecutive ones of an agent its run is to be ended.
    #[must_use]
    pub fn new(give_up_after: u32) -> Self {
        let (agents, quarantined) = (HashMap::new(), HashSet::new());
        Self { give_up_after, agents, quarantined, outage: Outage::new("the store") }
    }

    /// The cause for which an agent's run is to be ended instead of another attempt, if there is one.
    #[must_use]
    pub fn given_up(&self, agent: AgentId) -> Option<String> {
        let failed = self.agents.get(&agent)?;
        (failed.count >= self.give_up_after).then(|| failed.cause.clone())
    }

    /// Whether the agent is left alone until the next start, because not even its run can be ended.
    #[must_use]
    pub fn is_left_alone(&self, agent: AgentId) -> bool {
        self.quarantined.contains(&agent)
    }

    /// Until when the agent is not tried again, if it failed; nothing if that is further away from `time` than the longest
    /// of all pauses: the clock was wrong when it failed.
    #[must_use]
    pub fn put_off_until(&self, agent: AgentId, time: Time) -> Option<Time> {
        self.agents.get(&agent)?.until.filter(|until| until.since(time) <= LONGEST_PAUSE)
    }

    /// Forgets the failures of all other agents: their activations succeed, if at another node.
    pub fn retain(&mut self, is_due: impl Fn(AgentId) -> bool) {
        self.agents.retain(|agent, _| is_due(*agent));
    }

    /// Notes that the store could not be read.
    pub fn unread(&mut self, error: &Error, now: Time) {
        self.outage.met(&error.to_string(), now);
    }

    /// Notes how an attempt at an agent ended, or with which message it panicked. Returns when the agent is to be tried
    /// again, if it is. An agent that failed is tried again later; if it keeps failing, its run is ended, and if ending
    /// it fails, that is tried again, too. While the store is unusable, the agent is tried again for as long as that
    /// takes.
    pub fn ended(&mut self, agent: AgentId, outcome: Result<Result<()>, String>, now: Time) -> Option<Time> {
        let failure = match outcome {
            Ok(Ok(())) => {
                self.agents.remove(&agent);
                self.outage.over(now);
                return None;
            }
            Ok(Err(error)) => Failure::from(error),
            Err(crash) => Failure::Own(crash),
        };
        match failure {
            Failure::Store(cause) => {
                self.outage.met(&cause, now);
                let failed = self.agents.entry(agent).or_default();
                failed.outages += 1;
                let delay = UNAVAILABLE.after(failed.outages);
                self.put_off(agent, now + delay)
            }
            Failure::NotYet(after) => self.put_off(agent, now + after),
            Failure::Damaged(cause) => self.on_corruption(agent, cause, now),
            Failure::Own(cause) => self.on_failure(agent, cause, now),
        }
    }

    /// Ends the run of an agent whose part of the database is damaged. If that cannot be written either,
    /// leaves the agent alone until the next start.
    fn on_corruption(&mut self, agent: AgentId, cause: String, now: Time) -> Option<Time> {
        let (failed, limit) = (self.agents.entry(agent).or_default(), self.give_up_after);
        if failed.count < limit {
            tracing::error!(%agent, %cause, "an activation failed because the database is damaged; its run is ended");
            (failed.count, failed.cause) = (limit, cause);
            Some(now)
        } else {
            tracing::error!(%agent, %cause, "the run cannot be ended either; it is not tried again");
            self.quarantined.insert(agent);
            None
        }
    }

    fn on_failure(&mut self, agent: AgentId, cause: String, now: Time) -> Option<Time> {
        let failed = self.agents.entry(agent).or_default();
        failed.outages = 0;
        failed.count += 1;
        let (count, limit) = (failed.count, self.give_up_after);
        if count > limit {
            tracing::error!(%agent, %cause, "the run could not be ended either");
        } else {
            tracing::error!(%agent, failures = count, %cause, "an activation failed");
            failed.cause = cause;
        }
        if count == limit {
            return Some(now);
        }
        self.put_off(agent, now + FAILING.after(count))
    }

    /// Has an agent that failed tried again at `until`, or earlier if it gets something new to do.
    fn put_off(&mut self, agent: AgentId, until: Time) -> Option<Time> {
        self.agents.entry(agent).or_default().until = Some(until);
        Some(until)
    }
}
