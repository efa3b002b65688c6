//! Pauses that the provider asks for. What it refuses as too many may be what one owner alone asks for, such as too
//! much at once, so that a pause is of the owner whose call was refused. Where a second one is refused meanwhile,
//! it is one for all.
//!
//! After its pause an owner asks for one at a time first, and for more with each that is taken.

use std::{collections::HashMap, time::Duration};

use entourage_types::Owner;
use tokio::time::Instant;

use super::state::{REFUSED_WITHIN, grown};

/// A provider that asks to slow down and does not say for how long gets this, doubled each time.
pub(super) const PAUSE: Duration = Duration::from_secs(2);
/// The longest pause that a provider gets by asking for it: its clock may be wrong, and a quota may be
/// raised meanwhile. Then one request finds out.
const LONGEST_ASKED: Duration = Duration::from_secs(300);
/// A refusal so long ago says nothing of now.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// The pauses of all owners whose last call was refused.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    of: HashMap<Option<Owner>, Pause>,
    /// When any call was taken last.
    accepted: Option<Instant>,
}

#[derive(Debug)]
struct Pause {
    since: Instant,
    until: Instant,
    /// How often in a row the owner was refused.
    refused: u32,
    /// When the request began that a person asked for meanwhile.
    ahead: Option<Instant>,
    /// When those calls began since then that are asking, and how many there may be.
    asking: Vec<Instant>,
    width: usize,
}

impl Pause {
    fn asks_no_more(&mut self, began: Instant) {
        if let Some(at) = self.asking.iter().position(|asking| *asking == began) {
            self.asking.remove(at);
        }
    }
}

impl Pauses {
    /// Until when this owner's calls pause, if they do. A person gets one request at a time past that.
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

    /// Until when as many of this owner's calls ask as may, should none of them be taken or refused before.
    pub(super) fn full(&self, owner: Option<&Owner>, now: Instant) -> Option<Instant> {
        if self.of.is_empty() {
            return None;
        }
        let pause = self.of.get(&owner.cloned())?;
        let asking = || pause.asking.iter().map(|began| *began + REFUSED_WITHIN).filter(|until| *until > now);
        if asking().count() < pause.width { None } else { asking().min() }
    }

    /// A call of this owner begins.
    pub(super) fn begun(&mut self, owner: Option<&Owner>, now: Instant) {
        let Some(pause) = self.of_owner(owner) else { return };
        if pause.until > now {
            pause.ahead = Some(now);
        }
        pause.asking.retain(|began| *began + REFUSED_WITHIN > now);
        pause.asking.push(now);
    }

    /// The answer to a call of this owner begins; `wanted` says whether others wait, and there are so many `places`.
    pub(super) fn accepted(
        &mut self,
        owner: Option<&Owner>,
        began: Instant,
        now: Instant,
        (wanted, places): (bool, usize),
    ) {
        self.accepted = Some(now);
        let Some(pause) = self.of_owner(owner).filter(|pause| began >= pause.since) else { return };
        pause.asks_no_more(began);
        (pause.until, pause.refused) = (now, 0);
        pause.width += usize::from(wanted);
        if pause.width >= places {
            self.of.remove(&owner.cloned());
        }
    }

    /// A call of this owner was refused, which asks for so long a pause. Returns when its pause is over.
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
            // It was asking when the pause began: it is told the same.
            pause.until = asked.map_or(pause.until, |asked| pause.until.max(now + asked));
        } else {
            pause.until = now + asked.unwrap_or(grown(PAUSE, pause.refused));
            (pause.since, pause.ahead, pause.width) = (now, None, 1);
            pause.asking.clear();
            pause.refused += 1;
        }
        pause.until
    }

    /// A call of this owner is over, however it ended.
    pub(super) fn left(&mut self, owner: Option<&Owner>, began: Instant) {
        if let Some(pause) = self.of_owner(owner) {
            pause.ahead.take_if(|ahead| *ahead == began);
            pause.asks_no_more(began);
        }
    }

    /// Until when another owner pauses, if any does.
    pub(super) fn of_another(&self, owner: Option<&Owner>, now: Instant) -> Option<Instant> {
        let others = self.of.iter().filter(|(of, pause)| of.as_ref() != owner && pause.until > now);
        others.map(|(_, pause)| pause.until).max()
    }

    /// Who pauses.
    pub(super) fn owners(&self, now: Instant) -> impl Iterator<Item = &Option<Owner>> {
        self.of.iter().filter(move |(_, pause)| pause.until > now).map(|(owner, _)| owner)
    }

    /// Until when somebody pauses, where nobody was answered since: then all seem to be refused.
    pub(super) fn unanswered(&self, now: Instant) -> Option<Instant> {
        let is_unanswered = |pause: &&Pause| self.accepted.is_none_or(|accepted| accepted < pause.since);
        let until = self.of.values().filter(is_unanswered).map(|pause| pause.until);
        until.filter(|until| *until > now).max()
    }

    fn of_owner(&mut self, owner: Option<&Owner>) -> Option<&mut Pause> {
        if self.of.is_empty() { None } else { self.of.get_mut(&owner.cloned()) }
    }
}
