//! Health: what is done about tasks and goals that go on for too long, or ended long ago (S4).
//!
//! This is policy, and no repair: maintenance mends what should not exist, and a round of health ends what is of no use
//! any more. A rule looks and says what it would do, a file each; what it finds is done one by one, each in a commit
//! that expects the agent as the rule saw it. Whether an agent lives is read from its rows: when it changed last, and
//! what the dispatcher is to deliver. Only tasks that were created with `create_task`, and agents of permanent kinds,
//! are looked at.

mod cut;
mod finished;
mod open;
mod paused;
mod round;
mod stale;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use entourage_types::{AgentId, HealthAct, Task, Time};

use crate::{Engine, run::Neglect};
use finished::Place;
use open::{OpenRun, OpenRuns};

/// How many ended activations are kept for the next report.
const MOST_CUT: usize = 1000;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// After which times something is done. All numbers of this policy are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthPolicy {
    /// From one round to the next.
    pub every: Duration,
    /// How long an activation may be at work. The watchdog ends it.
    pub at_work: Duration,
    /// How long nothing of a task may change.
    pub stale_task: Duration,
    /// How long nothing of a goal's agent, or of the user agent, may change while its run is open.
    pub stale_goal: Duration,
    /// How long a task may be paused.
    pub expire: Duration,
    /// How long a task is kept after its end.
    pub prune: Duration,
}

impl Default for HealthPolicy {
    fn default() -> Self {
        Self {
            every: 5 * MINUTE,
            at_work: 30 * MINUTE,
            stale_task: 2 * HOUR,
            stale_goal: 6 * HOUR,
            expire: 24 * HOUR,
            prune: 15 * 24 * HOUR,
        }
    }
}

/// What a round did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthRound {
    /// Whether it only looked, and changed nothing.
    pub is_dry: bool,
    /// What it did, in the order in which it did so, or what it would do.
    pub reports: Vec<HealthReport>,
}

/// What a round did about one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthReport {
    /// The agent.
    pub agent: AgentId,
    /// What was done.
    pub what: HealthAct,
    /// Why, in a sentence.
    pub why: String,
}

/// What a rule found, and what is done about it.
struct Finding {
    report: HealthReport,
    remedy: Remedy,
}

/// What is done about a finding.
enum Remedy {
    /// Nothing: it was done, or the dispatcher does it.
    None,
    /// The agent is woken.
    Wake(OpenRun),
    /// Its run ends.
    End(OpenRun, Neglect),
    /// The task is forgotten, with the agent that worked on it.
    Forget(Task),
}

/// The policy of an engine, and what the next round begins with.
pub(crate) struct Health {
    policy: HealthPolicy,
    /// What the watchdog did since the last round. The runs themselves are on record, with why they ended: this only tells
    /// the operator, and is gone with the process.
    cut: Mutex<Vec<(AgentId, Time)>>,
    /// Where the next round begins to look for tasks that ended long ago. A new process begins with the first agent.
    looked_to: Mutex<Place>,
}

impl Health {
    pub(crate) fn new(policy: HealthPolicy) -> Self {
        Self { policy, cut: Mutex::default(), looked_to: Mutex::default() }
    }

    /// How long an activation may be at work.
    pub(crate) const fn longest_activation(&self) -> Duration {
        self.policy.at_work
    }

    /// Notes that the run of an agent was ended that was at work for too long.
    pub(crate) fn cut(&self, agent: AgentId, at: Time) {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        if cut.len() < MOST_CUT {
            cut.push((agent, at));
        }
    }

    /// The agents whose runs were ended since the last round.
    fn cuts(&self) -> Vec<(AgentId, Time)> {
        self.cut.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where a round begins to look for tasks that ended long ago.
    fn looked_to(&self) -> Place {
        *self.looked_to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a round is done: it has reported so many ended activations, and how far it
    /// has looked for tasks.
    fn round_done(&self, cuts: usize, looked_to: Place) {
        self.cut.lock().unwrap_or_else(PoisonError::into_inner).drain(..cuts);
        *self.looked_to.lock().unwrap_or_else(PoisonError::into_inner) = looked_to;
    }
}

impl Engine {
    /// After which times something is done about tasks and goals.
    #[must_use]
    pub fn health(&self) -> &HealthPolicy {
        &self.inner.health.policy
    }
}

/// A time as people say it: whole hours or minutes.
fn said(span: Duration) -> String {
    let minutes = span.as_secs() / 60;
    let (number, unit) = match minutes {
        0 => (span.as_secs(), "second"),
        _ if minutes.is_multiple_of(24 * 60) && minutes > 24 * 60 => (minutes / (24 * 60), "day"),
        _ if minutes.is_multiple_of(60) => (minutes / 60, "hour"),
        _ => (minutes, "minute"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_the_largest_whole_unit() {
        let spans = [30, 60, 90 * 60, 3600, 24 * 3600, 15 * 24 * 3600].map(Duration::from_secs);
        assert_eq!(
            spans.map(said),
            ["30 seconds", "1 minute", "90 minutes", "1 hour", "24 hours", "15 days"]
        );
    }
}
