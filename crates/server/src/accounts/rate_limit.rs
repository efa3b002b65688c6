//! A limit on attempts, per email or per address, in bounded memory.
//!
//! For each key one time is kept: the one at which all of its attempts are forgotten (the generic cell rate
//! algorithm, GCRA). Each attempt moves it by an equal part of a minute, and one that would move it beyond a minute
//! from now is refused: a minute's attempts may come at once, and then as many as time allows.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use entourage_types::Time;

/// In which time the attempts of a key are forgotten.
const WINDOW: Duration = Duration::from_secs(60);
/// For how many keys attempts are kept; each takes some 20 bytes.
const MOST: usize = 10_000;

/// A limit on attempts for each of many keys.
pub(crate) struct RateLimit {
    /// By how much of the window each attempt counts.
    step: Duration,
    /// Keys are kept as digests under a secret of this process, so that none is long and no two are made equal.
    digests: RandomState,
    /// Until when attempts count.
    until: Mutex<HashMap<u64, Time>>,
}

impl RateLimit {
    /// So many attempts a minute for each key.
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { step: WINDOW / per_minute, digests: RandomState::new(), until: Mutex::default() }
    }

    /// Counts an attempt for a key; beyond the limit it does not count, and the error is how long to wait.
    pub(crate) fn attempt(&self, key: &impl Hash, now: Time) -> Result<(), Duration> {
        let key = self.digests.hash_one(key);
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        // What is more than a window away is from before the clock was set back.
        let counts = |until: &Time| (now..=now + WINDOW).contains(until);
        let next = until.get(&key).copied().filter(counts).unwrap_or(now) + self.step;
        if next > now + WINDOW {
            return Err(next.since(now + WINDOW));
        }
        if until.len() >= MOST && !until.contains_key(&key) {
            make_room(&mut until, now);
        }
        until.insert(key, next);
        Ok(())
    }
}

/// Forgets the keys whose attempts count no more, or else the one with the fewest: of many invented keys none
/// displaces a key that is at its limit.
fn make_room(until: &mut HashMap<u64, Time>, now: Time) {
    until.retain(|_, until| *until > now);
    if until.len() >= MOST {
        let least = until.iter().min_by_key(|(_, until)| **until).map(|(key, _)| *key);
        least.map(|key| until.remove(&key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u32) -> Time {
        Time::from_micros(0) + seconds * SECOND
    }

    #[test]
    fn a_minutes_attempts_may_come_at_once_and_one_is_added_with_each_part_of_a_minute() {
        let limit = RateLimit::new(10);
        let many = |key: &str, now: Time| (0..100).filter(|_| limit.attempt(&key, now).is_ok()).count();
        assert_eq!(many("a", at(0)), 10);
        assert_eq!(limit.attempt(&"a", at(1)), Err(5 * SECOND), "a refused attempt does not count");
        assert_eq!(many("b", at(1)), 10, "keys are apart");
        assert_eq!([at(5), at(6), at(30), at(1000)].map(|now| many("a", now)), [0, 1, 4, 10]);
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_no_key_out() {
        let limit = RateLimit::new(10);
        while limit.attempt(&"a", at(5000)).is_ok() {}
        assert_eq!(limit.attempt(&"a", at(0)), Ok(()));
    }

    #[test]
    fn the_number_of_keys_is_bounded_and_a_key_at_its_limit_is_not_displaced() {
        let limit = RateLimit::new(10);
        while limit.attempt(&"spent", at(0)).is_ok() {}
        for number in 0..MOST + 100 {
            limit.attempt(&number, at(0)).unwrap();
        }
        let count = || limit.until.lock().unwrap().len();
        assert_eq!(count(), MOST);
        assert!(limit.attempt(&"spent", at(0)).is_err());
        limit.attempt(&"late", at(61)).unwrap();
        assert_eq!(count(), 1, "what counts no more makes room");
    }
}
