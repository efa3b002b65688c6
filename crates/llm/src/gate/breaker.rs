//! Circuit breakers for consecutive failures of one owner's calls. One owner's input may be what makes a
//! provider fail, so a breaker closes the gate for that owner alone. While the provider answers no call at
//! all, a single failure is enough to close the gate for another owner.

use std::{collections::HashMap, time::Duration};

use entourage_types::{Backoff, Owner};
use tokio::time::Instant;

use super::state::LONGEST;

/// So many consecutive failures open the breaker.
pub(super) const BREAKS_AFTER: u32 = 5;
/// How long a breaker stays open.
pub(super) const BROKEN: Backoff = Backoff::new(Duration::from_secs(5), LONGEST);
/// A failure this long ago is ignored.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// The breakers of all owners whose last call failed.
#[derive(Debug, Default)]
pub(super) struct Breakers {
    of: HashMap<Option<Owner>, Breaker>,
    /// When a call of any owner was last answered.
    answered: Option<Instant>,
}

#[derive(Debug)]
struct Breaker {
    /// The number of consecutive failures, and when the last occurred.
    failures: u32,
    failed: Instant,
    /// How often the breaker has opened since a call was answered.
    opened: u32,
    /// When it first opened since a call was answered.
    broke: Instant,
    /// Since when it is open, and until when it rejects calls.
    open: Option<(Instant, Instant)>,
    /// When the call began that tests whether the breaker can close.
    test: Option<Instant>,
}

impl Breakers {
    /// Returns how long a call of this owner has to stay away, if at all. A call that a person asks for tests
    /// an open breaker early.
    pub(super) fn keep_away(
        &self,
        owner: Option<&Owner>,
        asked_by_person: bool,
        now: Instant,
    ) -> Option<Duration> {
        let breaker = self.of.get(&owner.cloned())?;
        let (_, until) = breaker.open?;
        if breaker.test.is_some() {
            return Some((until - now).max(BROKEN.after(1)));
        }
        (until > now && !asked_by_person).then(|| until - now)
    }

    /// Records that a call of this owner begins; if the owner's breaker is open, the call tests it.
    pub(super) fn begun(&mut self, owner: Option<&Owner>, now: Instant) {
        if let Some(breaker) = self.of.get_mut(&owner.cloned()).filter(|breaker| breaker.open.is_some()) {
            breaker.test = Some(now);
        }
    }

    /// Records that the answer to a call of this owner begins; if the call was a test, the breaker closes.
    pub(super) fn accepted(&mut self, owner: Option<&Owner>, began: Instant) {
        if let Some(breaker) = self.tested(owner, began) {
            (breaker.open, breaker.test) = (None, None);
        }
    }

    /// Records that a call of this owner was answered.
    pub(super) fn answered(&mut self, owner: Option<&Owner>, now: Instant) {
        self.answered = Some(now);
        self.of.remove(&owner.cloned());
    }

    /// Records that a call of this owner failed. Returns true if that opens its breaker while no call of any
    /// owner is answered.
    pub(super) fn failed(&mut self, owner: Option<&Owner>, began: Instant, now: Instant) -> bool {
        self.of.retain(|_, breaker| breaker.failed + FORGOTTEN > now);
        let most = if self.closed(now).is_some() { 1 } else { BREAKS_AFTER };
        let fresh = Breaker { failures: 0, failed: now, opened: 0, broke: now, open: None, test: None };
        let breaker = self.of.entry(owner.cloned()).or_insert(fresh);
        // A call that began before the breaker opened tells nothing new.
        if breaker.open.is_some_and(|(since, _)| began < since) {
            return false;
        }
        breaker.failures += 1;
        breaker.failed = now;
        if breaker.test != Some(began) && breaker.failures < most {
            return false;
        }
        if breaker.opened == 0 {
            breaker.broke = now;
        }
        breaker.open = Some((now, now + BROKEN.after(breaker.opened + 1)));
        breaker.opened += 1;
        self.closed(now).is_some()
    }

    /// Records that a call of this owner is over, however it ended.
    pub(super) fn left(&mut self, owner: Option<&Owner>, began: Instant) {
        if let Some(breaker) = self.tested(owner, began) {
            breaker.test = None;
        }
    }

    /// Returns the owners whose breakers are open.
    pub(super) fn owners(&self, now: Instant) -> impl Iterator<Item = &Option<Owner>> {
        let is_open = move |breaker: &Breaker| breaker.open.is_some_and(|(_, until)| until > now);
        self.of.iter().filter(move |(_, breaker)| is_open(breaker)).map(|(owner, _)| owner)
    }

    /// How long the gate is closed by breakers since whose opening no call was answered: then the provider
    /// seems to be down for all owners.
    pub(super) fn closed(&self, now: Instant) -> Option<Duration> {
        let is_unanswered =
            |breaker: &&Breaker| self.answered.is_none_or(|answered| answered < breaker.broke);
        let open = self.of.values().filter(is_unanswered).filter_map(|breaker| breaker.open);
        open.filter(|(_, until)| *until > now).map(|(_, until)| until - now).max()
    }

    /// Returns the breaker that this call tests.
    fn tested(&mut self, owner: Option<&Owner>, began: Instant) -> Option<&mut Breaker> {
        self.of.get_mut(&owner.cloned()).filter(|breaker| breaker.test == Some(began))
    }
}
