//! What a gate knows of its model: counters and instants, no waiting.
//!
//! A request is pending (the `asking` fields) until its answer begins, which means that the provider has
//! accepted it. If the settings or the provider say how much the provider accepts, so many requests may be
//! pending at once. Otherwise one may at first, and in any case after each closing; each accepted request
//! while others wait raises the limit by three, or by one once the gate has been closed. So a provider that
//! wants fewer requests refuses one or a few, not as many as there are callers. Refusals arrive fast, so a
//! request that was not refused soon no longer counts as pending: a slow answer does not hold up others for
//! long.

use std::{
    collections::{HashMap, HashSet, VecDeque, hash_map::Entry},
    time::Duration,
};

use entourage_types::Owner;
use tokio::time::Instant;

use super::{GateStatus, breaker::Breakers, pauses::Pauses};
use crate::Priority;

/// So many requests may be pending at once until the provider is known to accept more.
const PROBE: usize = 1;
/// A request that was not refused within this time no longer counts as pending.
pub(super) const REFUSED_WITHIN: Duration = Duration::from_secs(3);
/// Waits up to this long happen in memory.
const MOMENT: Duration = Duration::from_secs(3);
/// The longest pause that the gate chooses itself.
pub(super) const LONGEST: Duration = Duration::from_secs(60);
/// How far ahead a call's turn is scheduled at most: below the longest delay of a caller (five minutes), after
/// which the turn would have lapsed.
const FARTHEST: Duration = Duration::from_secs(240);
/// The period over which the rate is counted.
const MINUTE: Duration = Duration::from_secs(60);

/// Where a call that waits is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// No other call goes before it.
    First,
    /// Another call goes first.
    Behind,
}

/// Whether a call may be sent now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Yes, in this round, beginning at this instant.
    Open(u64, Instant),
    /// Not yet: wait until that instant, or until woken.
    Wait(Option<Instant>),
    /// Not for this long, which is too long to wait here.
    Home(Duration),
}

/// What the end of a call tells about the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// The provider answers.
    Answered,
    /// The provider wants fewer requests, for this long if it says so.
    Slower(Option<Duration>),
    /// The provider does not answer, or answers with a failure.
    Down,
}

/// What a gate knows of its model.
#[derive(Debug)]
pub(super) struct State {
    /// The concurrency limit.
    places: usize,
    in_flight: HashMap<Option<Owner>, usize>,
    /// When the pending calls of this round began, and how many may be pending.
    asking: Vec<Instant>,
    width: usize,
    /// Requests per minute, and when those of the last minute were sent.
    rate: Option<usize>,
    made: VecDeque<Instant>,
    /// Per priority and owner: the turn given to the last call that the rate limit rejected.
    deferred_turns: HashMap<(Priority, Option<Owner>), Instant>,
    /// No call passes before this, except one request at a time that a person asks for.
    closed: Option<Instant>,
    /// When the last request began that passed the closed gate.
    ahead: Option<Instant>,
    /// Incremented with each closing; calls of an earlier round tell nothing about a later one.
    round: u64,
    pauses: Pauses,
    breakers: Breakers,
}

impl State {
    /// Creates a state. An `open` gate starts with as many pending requests allowed as there are places.
    pub(super) fn new(places: usize, rate: Option<u32>, open: bool) -> Self {
        let places = places.max(1);
        Self {
            places,
            in_flight: HashMap::new(),
            asking: Vec::new(),
            width: if open { places } else { PROBE },
            rate: rate.map(|rate| usize::try_from(rate).unwrap_or(usize::MAX).max(1)),
            made: VecDeque::new(),
            deferred_turns: HashMap::new(),
            closed: None,
            ahead: None,
            round: 0,
            pauses: Pauses::default(),
            breakers: Breakers::default(),
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.values().sum()
    }

    /// For how many owners the gate is closed because of their own calls.
    pub(super) fn blocked_owners(&self, now: Instant) -> usize {
        self.pauses.owners(now).chain(self.breakers.owners(now)).collect::<HashSet<_>>().len()
    }

    /// Whether an owner's calls let those of others go first.
    pub(super) fn holds_back(&self, priority: Priority, owner: Option<&Owner>, now: Instant) -> bool {
        self.pauses.until(owner, priority == Priority::Now, now).is_some()
            || self.pauses.full(owner, now).is_some()
            || self.has_its_places(owner)
    }

    /// Whether an owner has all places that it may have. An owner named by a token leaves one place to
    /// others.
    fn has_its_places(&self, owner: Option<&Owner>) -> bool {
        let Some(named) = owner.filter(|owner| owner.is_of_a_token()) else { return false };
        let in_flight = self.in_flight.get(&Some(named.clone())).copied().unwrap_or_default();
        in_flight >= (self.places - 1).max(1)
    }

    /// For how long an owner's calls are held back because the gate is closed to them.
    pub(super) fn held_back(&mut self, owner: Option<&Owner>, now: Instant) -> Option<Duration> {
        let paused = self.pauses.until(owner, false, now).max(self.opens(now)).map(|until| until - now);
        paused.max(self.breakers.keep_away(owner, false, now))
    }

    pub(super) fn door(&mut self, now: Instant) -> GateStatus {
        match (self.opens(now).max(self.pauses.unanswered(now)), self.breakers.closed(now)) {
            (Some(opens), _) => GateStatus::Paused(opens - now),
            (None, Some(left)) => GateStatus::Broken(left),
            (None, None) => GateStatus::Open,
        }
    }

    /// Lets the call through if it is the first of the queue and there is room. While the gate is closed, one
    /// request at a time that a person asks for tests whether it still has to be.
    pub(super) fn enter(
        &mut self,
        now: Instant,
        place: Place,
        (priority, owner): (Priority, Option<&Owner>),
    ) -> Admission {
        let asked_by_person = priority == Priority::Now;
        if let Some(away) = self.breakers.keep_away(owner, asked_by_person, now) {
            return Admission::Home(away);
        }
        if let Some(until) = self.pauses.until(owner, asked_by_person, now) {
            let left = until - now;
            return if left > MOMENT { Admission::Home(left) } else { Admission::Wait(Some(until)) };
        }
        if let Some(until) = self.pauses.full(owner, now) {
            return Admission::Wait(Some(until));
        }
        if self.has_its_places(owner) {
            return Admission::Wait(None);
        }
        let closed = self.closed.filter(|opens| *opens > now);
        let ahead = asked_by_person && closed.is_some() && self.asking(now) == 0;
        let opens = self.rate_allows(now);
        let opens = if ahead { opens } else { closed.max(opens) };
        let opens = opens.filter(|opens| *opens > now);
        match opens {
            Some(opens) if opens - now > MOMENT => {
                Admission::Home(self.turn_of((priority, owner.cloned()), now, opens) - now)
            }
            Some(opens) => Admission::Wait((place == Place::First).then_some(opens)),
            None if place == Place::Behind || self.in_flight() >= self.places => Admission::Wait(None),
            None if self.asking(now) >= self.width => {
                Admission::Wait(self.asking.first().map(|began| *began + REFUSED_WITHIN))
            }
            None => {
                *self.in_flight.entry(owner.cloned()).or_default() += 1;
                self.asking.push(now);
                self.breakers.begun(owner, now);
                self.pauses.begun(owner, now);
                if ahead {
                    self.ahead = Some(now);
                }
                if self.rate.is_some() {
                    self.made.push_back(now);
                }
                Admission::Open(self.round, now)
            }
        }
    }

    /// Returns the number of pending requests.
    fn asking(&mut self, now: Instant) -> usize {
        self.asking.retain(|began| *began + REFUSED_WITHIN > now);
        self.asking.len()
    }

    /// When the gate opens, if it is closed.
    fn opens(&mut self, now: Instant) -> Option<Instant> {
        let next = self.rate_allows(now);
        self.closed.max(next).filter(|opens| *opens > now)
    }

    /// When the rate limit allows the next request, if it is used up.
    fn rate_allows(&mut self, now: Instant) -> Option<Instant> {
        while self.made.front().is_some_and(|made| *made + MINUTE <= now) {
            self.made.pop_front();
        }
        let used_up = self.rate.is_some_and(|rate| self.made.len() >= rate);
        // The rejected calls do not come back, or make fewer requests.
        if self.rate.is_some_and(|rate| self.made.len() < rate / 2) {
            self.deferred_turns.clear();
        }
        self.made.front().filter(|_| used_up).map(|made| *made + MINUTE)
    }

    /// Returns when a rejected call of this owner should come back, given when the gate opens. While the rate
    /// is used up, one owner's calls come back one after the other, spaced by its share of the rate: if they
    /// came back together, an owner with many calls would take nearly all of it. Each priority has turns of
    /// its own.
    fn turn_of(&mut self, whose: (Priority, Option<Owner>), now: Instant, opens: Instant) -> Instant {
        let Some(rate) = self.rate.filter(|rate| self.made.len() >= *rate) else { return opens };
        self.deferred_turns.retain(|_, until| *until > now);
        let last = self.deferred_turns.get(&whose).copied();
        let owners = self.deferred_turns.len() + usize::from(last.is_none());
        let apart = MINUTE.mul_f64(owners as f64 / rate as f64);
        let turn = last.map_or(opens, |last| opens.max((last + apart).min(now + FARTHEST)));
        self.deferred_turns.insert(whose, turn);
        turn
    }

    /// Records that the provider has accepted an owner's request that began then; `wanted` says whether
    /// others wait.
    pub(super) fn accepted(
        &mut self,
        now: Instant,
        (round, owner, began): (u64, Option<&Owner>, Instant),
        wanted: bool,
    ) {
        self.breakers.accepted(owner, began);
        self.pauses.accepted(owner, began, now, (wanted, self.places));
        if round == self.round {
            self.remove_pending(began);
            if self.ahead.take_if(|ahead| *ahead == began).is_some() {
                self.closed = None;
            }
            // Round 0 lasts until the gate first closes: until then the provider has never refused all
            // owners.
            let more = match (wanted, self.round) {
                (false, _) => 0,
                (true, 0) => 3,
                (true, _) => 1,
            };
            self.width = (self.width + more).min(self.places);
        }
    }

    /// Records that the provider says it accepts so many more requests now. Once it has closed the gate, this
    /// figure is no longer trusted.
    pub(super) fn allowed(&mut self, round: u64, requests: usize) {
        if round == 0 && self.round == 0 {
            self.width = self.width.max(self.asking.len() + requests).min(self.places);
        }
    }

    /// Records the outcome of an owner's call that began then and was not cancelled.
    pub(super) fn ended(
        &mut self,
        now: Instant,
        (round, owner, began): (u64, Option<&Owner>, Instant),
        sort: CallEnd,
    ) {
        match sort {
            CallEnd::Answered => self.breakers.answered(owner, now),
            CallEnd::Down => {
                // A provider that answers no call must not get the requests of all owners at once when it
                // recovers.
                if self.breakers.failed(owner, began, now) {
                    self.begin_round();
                }
            }
            CallEnd::Slower(after) => {
                let until = self.pauses.refused(owner, began, now, after);
                let of_another = self.pauses.of_another(owner, now);
                if let Some(other) = of_another {
                    // The gate closes for all until the shorter pause ends; the rest of the longer one is its
                    // owner's alone.
                    self.closed = self.closed.filter(|opens| *opens > now).max(Some(until.min(other)));
                }
                // Calls that were pending when the gate closed are refused too, and must not begin another
                // round.
                if round == self.round && of_another.is_some() {
                    self.ahead = None;
                    self.begin_round();
                }
            }
        }
    }

    /// Records that an owner's call that began then is over, however it ended; `asking` if its answer had not
    /// begun.
    pub(super) fn left(&mut self, round: u64, owner: Option<&Owner>, began: Instant, asking: bool) {
        if let Entry::Occupied(mut in_flight) = self.in_flight.entry(owner.cloned()) {
            *in_flight.get_mut() -= 1;
            if *in_flight.get() == 0 {
                in_flight.remove();
            }
        }
        self.breakers.left(owner, began);
        self.pauses.left(owner, began);
        if asking && round == self.round {
            self.remove_pending(began);
        }
    }

    fn remove_pending(&mut self, began: Instant) {
        if let Some(at) = self.asking.iter().position(|asking| *asking == began) {
            self.asking.remove(at);
        }
    }

    /// Begins a round with one pending request, and more with each that is accepted.
    fn begin_round(&mut self) {
        self.round += 1;
        self.asking.clear();
        self.width = PROBE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{
        breaker::{BREAKS_AFTER, BROKEN},
        pauses::PAUSE,
    };

    /// Makes a call that begins and ends at once. Returns false if the gate does not let it through.
    fn call(state: &mut State, now: Instant, sort: CallEnd) -> bool {
        let Admission::Open(round, began) = state.enter(now, Place::First, (Priority::Person, None)) else {
            return false;
        };
        state.ended(now, (round, None, began), sort);
        state.left(round, None, began, true);
        true
    }

    #[test]
    fn a_reclosed_breaker_tolerates_as_many_failures_as_a_new_one() {
        let (mut state, mut now) = (State::new(4, None, false), Instant::now());
        for opened in 0..3 {
            for failure in 0..BREAKS_AFTER {
                assert!(call(&mut state, now, CallEnd::Down), "failure {failure}, opened {opened} times");
            }
            assert!(!call(&mut state, now, CallEnd::Answered), "it is open");
            now += BROKEN.after(1);
            assert!(call(&mut state, now, CallEnd::Answered), "it is tested, and closes");
        }
    }

    #[test]
    fn pauses_grow_with_each_refusal_and_reset_after_an_accepted_request() {
        let (mut state, mut now) = (State::new(4, None, false), Instant::now());
        let pause = |state: &mut State, now: Instant| {
            assert!(call(state, now, CallEnd::Slower(None)));
            state.pauses.until(None, false, now).map(|opens| opens - now)
        };
        for refused in 0..4 {
            let own = PAUSE.after(refused + 1);
            assert_eq!(pause(&mut state, now), Some(own), "refused {refused} times before");
            now += own;
        }
        let Admission::Open(round, began) = state.enter(now, Place::First, (Priority::Person, None)) else {
            panic!("it is open")
        };
        state.accepted(now, (round, None, began), false);
        state.left(round, None, began, false);
        assert_eq!(pause(&mut state, now), Some(PAUSE.after(1)));
    }
}
