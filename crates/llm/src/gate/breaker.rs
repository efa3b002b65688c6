//! Calls of one owner that fail one after the other. What one owner sends may be what makes a provider fail, so
//! that it closes the gate for that owner alone; another one finds out for itself, by a single failure while the
//! gate is closed for somebody.

use std::{collections::HashMap, time::Duration};

use entourage_types::Owner;
use tokio::time::Instant;

use super::state::grown;

/// So many failures in a row open the breaker.
const BREAKS_AFTER: u32 = 5;
/// For how long it opens first, doubled each time.
const BROKEN: Duration = Duration::from_secs(5);
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
    pub(super) fn answered(&mut self, owner: Option<&Owner>, began: Instant, now: Instant) {
        self.answered = Some(now);
        let owner = owner.cloned();
        if self.of.get(&owner).is_some_and(|breaker| !breaker.knows_better(began)) {
            self.of.remove(&owner);
        }
    }

    /// A call of this owner failed.
    pub(super) fn failed(&mut self, owner: Option<&Owner>, began: Instant, now: Instant) {
        self.of.retain(|_, breaker| breaker.failed + FORGOTTEN > now);
        let owner = owner.cloned();
        let others = self.of.iter().any(|(other, breaker)| *other != owner && breaker.open.is_some());
        let fresh = Breaker { failures: 0, failed: now, open: None, test: None };
        let breaker = self.of.entry(owner).or_insert(fresh);
        if breaker.knows_better(began) {
            return;
        }
        breaker.failures += 1;
        breaker.failed = now;
        let most = if others { 1 } else { BREAKS_AFTER };
        if let Some(again) = breaker.failures.checked_sub(most) {
            breaker.open = Some((now, now + grown(BROKEN, again)));
        }
    }

    /// A call of this owner is over, however it ended.
    pub(super) fn left(&mut self, owner: Option<&Owner>, began: Instant) {
        if let Some(breaker) = self.tested(owner, began) {
            breaker.test = None;
        }
    }

    /// For how long the gate is closed where nobody was answered since it was: then it seems to be so for all.
    pub(super) fn closed(&self, now: Instant) -> Option<Duration> {
        let open = self.of.values().filter_map(|breaker| breaker.open);
        let since = open.filter(|(since, until)| *until > now && self.answered.is_none_or(|at| at < *since));
        since.map(|(_, until)| until - now).max()
    }

    /// The breaker that this call tests.
    fn tested(&mut self, owner: Option<&Owner>, began: Instant) -> Option<&mut Breaker> {
        self.of.get_mut(&owner.cloned()).filter(|breaker| breaker.test == Some(began))
    }
}

impl Breaker {
    /// Whether it opened after that call began, whose end then says nothing new.
    fn knows_better(&self, began: Instant) -> bool {
        self.open.is_some_and(|(since, _)| began < since)
    }
}
