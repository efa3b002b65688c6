//! Calls of one owner that fail one after the other. What one owner sends may be what makes a provider fail, so
//! that it closes the gate for that owner alone. While nobody is answered at all, a single failure is enough to
//! close it for another one.

use std::{collections::HashMap, time::Duration};

use entourage_types::Owner;
use tokio::time::Instant;

use super::state::grown;

/// So many failures in a row open the breaker.
pub(super) const BREAKS_AFTER: u32 = 5;
/// For how long it opens first, doubled each time.
pub(super) const BROKEN: Duration = Duration::from_secs(5);
/// What failed so long ago says nothing of now.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// The breakers of all owners whose last call failed.
#[derive(Debug, Default)]
pub(super) struct Breakers {
    of: HashMap<Option<Owner>, Breaker>,
    /// When any call was answered last.
    answered: Option<Instant>,
}

#[derive(Debug)]
struct Breaker {
    /// How often in a row calls failed, and when the last did.
    failures: u32,
    failed: Instant,
    /// How often it opened since a call was answered.
    opened: u32,
    /// When it opened first since a call was answered.
    broke: Instant,
    /// Since when it is open, and until when nobody passes.
    open: Option<(Instant, Instant)>,
    /// When the call began that tests whether it still has to be.
    test: Option<Instant>,
}

impl Breakers {
    /// How long a call of this owner has to stay away, if it has to. One that a person asks for tests an open
    /// breaker before its time.
    pub(super) fn keep_away(
        &self,
        owner: Option<&Owner>,
        asked_by_person: bool,
        now: Instant,
    ) -> Option<Duration> {
        let breaker = self.of.get(&owner.cloned())?;
        let (_, until) = breaker.open?;
        if breaker.test.is_some() {
            return Some((until - now).max(BROKEN));
        }
        (until > now && !asked_by_person).then(|| until - now)
    }

    /// A call of this owner begins; where its breaker is open, that tests it.
    pub(super) fn begun(&mut self, owner: Option<&Owner>, now: Instant) {
        if let Some(breaker) = self.of.get_mut(&owner.cloned()).filter(|breaker| breaker.open.is_some()) {
            breaker.test = Some(now);
        }
    }

    /// The answer to a call of this owner begins: where it was a test, others may come.
    pub(super) fn accepted(&mut self, owner: Option<&Owner>, began: Instant) {
        if let Some(breaker) = self.tested(owner, began) {
            (breaker.open, breaker.test) = (None, None);
        }
    }

    /// A call of this owner was answered.
    pub(super) fn answered(&mut self, owner: Option<&Owner>, now: Instant) {
        self.answered = Some(now);
        self.of.remove(&owner.cloned());
    }

    /// A call of this owner failed. True where that closes the gate and nobody is answered at all.
    pub(super) fn failed(&mut self, owner: Option<&Owner>, began: Instant, now: Instant) -> bool {
        self.of.retain(|_, breaker| breaker.failed + FORGOTTEN > now);
        let most = if self.closed(now).is_some() { 1 } else { BREAKS_AFTER };
        let fresh = Breaker { failures: 0, failed: now, opened: 0, broke: now, open: None, test: None };
        let breaker = self.of.entry(owner.cloned()).or_insert(fresh);
        // One that began before it opened says nothing new.
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
        breaker.open = Some((now, now + grown(BROKEN, breaker.opened)));
        breaker.opened += 1;
        self.closed(now).is_some()
    }

    /// A call of this owner is over, however it ended.
    pub(super) fn left(&mut self, owner: Option<&Owner>, began: Instant) {
        if let Some(breaker) = self.tested(owner, began) {
            breaker.test = None;
        }
    }

    /// Whose breakers are open.
    pub(super) fn owners(&self, now: Instant) -> impl Iterator<Item = &Option<Owner>> {
        let is_open = move |breaker: &Breaker| breaker.open.is_some_and(|(_, until)| until > now);
        self.of.iter().filter(move |(_, breaker)| is_open(breaker)).map(|(owner, _)| owner)
    }

    /// For how long the gate is closed where nobody was answered since it was: then it seems to be so for all.
    pub(super) fn closed(&self, now: Instant) -> Option<Duration> {
        let is_unanswered =
            |breaker: &&Breaker| self.answered.is_none_or(|answered| answered < breaker.broke);
        let open = self.of.values().filter(is_unanswered).filter_map(|breaker| breaker.open);
        open.filter(|(_, until)| *until > now).map(|(_, until)| until - now).max()
    }

    /// The breaker that this call tests.
    fn tested(&mut self, owner: Option<&Owner>, began: Instant) -> Option<&mut Breaker> {
        self.of.get_mut(&owner.cloned()).filter(|breaker| breaker.test == Some(began))
    }
}
