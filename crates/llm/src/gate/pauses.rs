//! Pauses that the provider asks for. A provider may refuse what one owner alone does, such as too many
//! requests at once, so a pause applies only to the owner whose call was refused. If a second owner is
//! refused meanwhile, the pause applies to all.
//!
//! After its pause an owner first gets one request at a time, and more with each that the provider accepts.

use std::{collections::HashMap, time::Duration};

use entourage_types::{Backoff, Owner};
use tokio::time::Instant;

use super::state::{LONGEST, REFUSED_WITHIN};

/// The pauses if a provider asks to slow down without saying for how long.
pub(super) const PAUSE: Backoff = Backoff::new(Duration::from_secs(2), LONGEST);
/// The longest pause granted to a provider that asks for one: its clock may be wrong, and a quota may be
/// raised meanwhile. Afterwards one request finds out.
const LONGEST_ASKED: Duration = Duration::from_secs(300);
/// A refusal this long ago is ignored.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// The pauses of all owners whose last call was refused.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    of: HashMap<Option<Owner>, Pause>,
    /// When the provider last accepted a call of any owner.
    accepted: Option<Instant>,
}

#[derive(Debug)]
struct Pause {
    since: Instant,
    until: Instant,
    /// How often in a row the owner was refused.
    refused: u32,
    /// When the request began that a person asked for during the pause.
    ahead: Option<Instant>,
    /// When the pending calls since then began, and how many may be pending.
    asking: Vec<Instant>,
    width: usize,
}

impl Pause {
    fn remove_pending(&mut self, began: Instant) {
        if let Some(at) = self.asking.iter().position(|asking| *asking == began) {
            self.asking.remove(at);
        }
    }
}

impl Pauses {
    /// Returns when this owner's pause ends, if it pauses. A person gets one request at a time during a
    /// pause.
    pub(super) fn until(
        &self,
        owner: Option<&Owner>,
        asked_by_person: bool,
        now: Instant,
    ) -> Option<Instant> {
        if self.of.is_empty() {
            return None;
        }
        let pause = self.of.get(&owner.cloned()).filter(|pause| pause.until > now)?;
        (!asked_by_person || pause.ahead.is_some()).then_some(pause.until)
    }

    /// If as many of this owner's calls are pending as allowed, returns when the next one may begin, should
    /// none of them be accepted or refused earlier.
    pub(super) fn full(&self, owner: Option<&Owner>, now: Instant) -> Option<Instant> {
        if self.of.is_empty() {
            return None;
        }
        let pause = self.of.get(&owner.cloned())?;
        let asking = || pause.asking.iter().map(|began| *began + REFUSED_WITHIN).filter(|until| *until > now);
        if asking().count() < pause.width { None } else { asking().min() }
    }

    /// Records that a call of this owner begins.
    pub(super) fn begun(&mut self, owner: Option<&Owner>, now: Instant) {
        let Some(pause) = self.of_owner(owner) else { return };
        if pause.until > now {
            pause.ahead = Some(now);
        }
        pause.asking.retain(|began| *began + REFUSED_WITHIN > now);
        pause.asking.push(now);
    }

    /// Records that the answer to a call of this owner begins. `wanted` says whether others wait; `places` is
    /// the concurrency limit.
    pub(super) fn accepted(
        &mut self,
        owner: Option<&Owner>,
        began: Instant,
        now: Instant,
        (wanted, places): (bool, usize),
    ) {
        self.accepted = Some(now);
        let Some(pause) = self.of_owner(owner).filter(|pause| began >= pause.since) else { return };
        pause.remove_pending(began);
        (pause.until, pause.refused) = (now, 0);
        pause.width += usize::from(wanted);
        if pause.width >= places {
            self.of.remove(&owner.cloned());
        }
    }

    /// Records that a call of this owner was refused, with the pause that the provider asked for. Returns
    /// when the owner's pause ends.
    pub(super) fn refused(
        &mut self,
        owner: Option<&Owner>,
        began: Instant,
        now: Instant,
        asked: Option<Duration>,
    ) -> Instant {
        self.of.retain(|_, pause| pause.until + FORGOTTEN > now);
        let asked = asked.map(|asked| asked.min(LONGEST_ASKED));
        let fresh = Pause { since: began, until: now, refused: 0, ahead: None, asking: Vec::new(), width: 1 };
        let pause = self.of.entry(owner.cloned()).or_insert(fresh);
        if began < pause.since {
            // It was pending when the pause began: this refusal is not a further one.
            pause.until = asked.map_or(pause.until, |asked| pause.until.max(now + asked));
        } else {
            pause.until = now + asked.unwrap_or(PAUSE.after(pause.refused + 1));
            (pause.since, pause.ahead, pause.width) = (now, None, 1);
            pause.asking.clear();
            pause.refused += 1;
        }
        pause.until
    }

    /// Records that a call of this owner is over, however it ended.
    pub(super) fn left(&mut self, owner: Option<&Owner>, began: Instant) {
        if let Some(pause) = self.of_owner(owner) {
            pause.ahead.take_if(|ahead| *ahead == began);
            pause.remove_pending(began);
        }
    }

    /// Returns when the pause of another owner ends, if another one pauses.
    pub(super) fn of_another(&self, owner: Option<&Owner>, now: Instant) -> Option<Instant> {
        let others = self.of.iter().filter(|(of, pause)| of.as_ref() != owner && pause.until > now);
        others.map(|(_, pause)| pause.until).max()
    }

    /// Returns the owners that pause.
    pub(super) fn owners(&self, now: Instant) -> impl Iterator<Item = &Option<Owner>> {
        self.of.iter().filter(move |(_, pause)| pause.until > now).map(|(owner, _)| owner)
    }

    /// Returns the end of the last pause since whose start no call was accepted: then the provider seems to
    /// refuse all owners.
    pub(super) fn unanswered(&self, now: Instant) -> Option<Instant> {
        let is_unanswered = |pause: &&Pause| self.accepted.is_none_or(|accepted| accepted < pause.since);
        let until = self.of.values().filter(is_unanswered).map(|pause| pause.until);
        until.filter(|until| *until > now).max()
    }

    fn of_owner(&mut self, owner: Option<&Owner>) -> Option<&mut Pause> {
        if self.of.is_empty() { None } else { self.of.get_mut(&owner.cloned()) }
    }
}
