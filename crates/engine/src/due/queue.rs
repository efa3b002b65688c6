//! The keys that a worker holds: those that are ready, in lanes that take turns, those in progress, and those
//! that are due later. Each step costs the same, however many there are.

use std::{
    collections::{BTreeMap, HashMap, VecDeque, hash_map::Entry},
    hash::Hash,
};

use entourage_types::Time;

use super::Limits;

/// The most keys that are held until they are due.
const MOST_LATER: usize = 10_000;

pub(super) struct Queue<K, L> {
    limits: Limits,
    /// The keys that are ready or in progress: each is one of both, once.
    states: HashMap<K, State>,
    lanes: HashMap<L, Lane<K>>,
    /// The lanes with a ready key and a free place, each once.
    turn: VecDeque<L>,
    later: BTreeMap<(Time, K), L>,
    in_progress: usize,
    /// The number of ready keys in the lanes of `turn`.
    startable: usize,
}

/// What put a key into the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trigger {
    /// A page: it may show the row of the work in progress.
    Page,
    /// A hint, or its time has come: there is something new.
    Hint,
}

enum State {
    Ready,
    /// At work, and what put the key again meanwhile, if anything did.
    InProgress {
        again: Option<Trigger>,
    },
}

struct Lane<K> {
    ready: VecDeque<K>,
    in_progress: usize,
    in_turn: bool,
}

impl<K> Default for Lane<K> {
    fn default() -> Self {
        Self { ready: VecDeque::new(), in_progress: 0, in_turn: false }
    }
}

impl<K: Copy + Ord + Hash, L: Clone + Eq + Hash> Queue<K, L> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            states: HashMap::new(),
            lanes: HashMap::new(),
            turn: VecDeque::new(),
            later: BTreeMap::new(),
            in_progress: 0,
            startable: 0,
        }
    }

    /// Puts a key that is ready into its lane. One that is in progress is noted, and one that is ready
    /// already keeps its place.
    pub(super) fn put(&mut self, key: K, lane: &L, trigger: Trigger) {
        match self.states.entry(key) {
            Entry::Vacant(place) => place.insert(State::Ready),
            Entry::Occupied(mut found) => {
                if let State::InProgress { again } = found.get_mut() {
                    *again = (*again).max(Some(trigger));
                }
                return;
            }
        };
        let found = match self.lanes.get_mut(lane) {
            Some(found) => found,
            None => self.lanes.entry(lane.clone()).or_default(),
        };
        found.ready.push_back(key);
        if found.in_turn {
            self.startable += 1;
        } else {
            self.open(lane);
        }
    }

    /// Holds a key until it is due. If that is one too many, drops the one that is due last, and returns when
    /// it is due.
    pub(super) fn put_delayed(&mut self, key: K, lane: L, due: Time) -> Option<Time> {
        self.later.insert((due, key), lane);
        let last = (self.later.len() > MOST_LATER).then(|| self.later.pop_last()).flatten();
        last.map(|((due, _), _)| due)
    }

    /// Makes the keys ready that are due by now.
    pub(super) fn promote_due(&mut self, now: Time) {
        while let Some(first) = self.later.first_entry().filter(|first| first.key().0 <= now) {
            let ((_, key), lane) = first.remove_entry();
            self.put(key, &lane, Trigger::Hint);
        }
    }

    /// When the next key becomes ready.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.later.first_key_value().map(|((due, _), _)| *due)
    }

    /// Forgets the keys that are due later.
    pub(super) fn clear_delayed(&mut self) {
        self.later.clear();
    }

    /// The next key to work on, if there is a place for it; it is in progress until [`Queue::done`].
    pub(super) fn next(&mut self) -> Option<(K, L)> {
        if self.in_progress >= self.limits.in_all {
            return None;
        }
        let lane = self.turn.pop_front()?;
        let found = self.lanes.get_mut(&lane)?;
        let key = found.ready.pop_front()?;
        self.states.insert(key, State::InProgress { again: None });
        self.in_progress += 1;
        self.startable -= 1;
        found.in_progress += 1;
        found.in_turn = !found.ready.is_empty() && found.in_progress < self.limits.per_lane;
        if found.in_turn {
            self.turn.push_back(lane.clone());
        } else {
            self.startable -= found.ready.len();
        }
        Some((key, lane))
    }

    /// Frees the place of a key. Returns what put it again meanwhile, if anything did.
    pub(super) fn done(&mut self, key: K, lane: &L) -> Option<Trigger> {
        let Some(State::InProgress { again }) = self.states.remove(&key) else { return None };
        self.in_progress -= 1;
        if let Some(found) = self.lanes.get_mut(lane) {
            found.in_progress -= 1;
            match found.ready.is_empty() {
                true if found.in_progress == 0 => drop(self.lanes.remove(lane)),
                true => {}
                false if found.in_turn => {}
                false => self.open(lane),
            }
        }
        again
    }

    /// Has a lane take turns, if it has a free place.
    fn open(&mut self, lane: &L) {
        if let Some(found) = self.lanes.get_mut(lane)
            && found.in_progress < self.limits.per_lane
        {
            found.in_turn = true;
            self.startable += found.ready.len();
            self.turn.push_back(lane.clone());
        }
    }

    /// The number of ready keys whose lanes have a free place.
    pub(super) fn startable(&self) -> usize {
        self.startable
    }

    /// The number of ready keys.
    pub(super) fn ready(&self) -> usize {
        self.states.len() - self.in_progress
    }

    /// The number of keys in progress.
    pub(super) fn in_progress(&self) -> usize {
        self.in_progress
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NONE: Limits = Limits { in_all: usize::MAX, per_lane: usize::MAX };

    fn queue(limits: Limits) -> Queue<u32, &'static str> {
        Queue::new(limits)
    }

    fn taken(queue: &mut Queue<u32, &'static str>) -> Vec<u32> {
        std::iter::from_fn(|| queue.next()).map(|(key, _)| key).collect()
    }

    fn at(seconds: u64) -> Time {
        Time::from_micros(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn lanes_take_turns_and_no_key_is_in_progress_twice_at_once() {
        let mut queue = queue(NONE);
        for key in (0..100).flat_map(|key| [key, key]) {
            queue.put(key, &"busy", Trigger::Hint);
        }
        queue.put(100, &"quiet", Trigger::Hint);
        assert_eq!(queue.ready(), 101);
        assert_eq!(queue.next(), Some((0, "busy")));
        assert_eq!(queue.next(), Some((100, "quiet")), "the quiet lane is second, not last");

        queue.put(100, &"quiet", Trigger::Hint);
        let rest: Vec<u32> = (1..100).collect();
        assert_eq!(taken(&mut queue), rest, "a key in progress is not handed out");
        assert_eq!(queue.done(100, &"quiet"), Some(Trigger::Hint), "but it is not forgotten");
        queue.put(100, &"quiet", Trigger::Hint);
        assert_eq!(taken(&mut queue), [100]);
        assert_eq!(queue.done(100, &"quiet"), None);
    }

    #[test]
    fn a_key_that_a_page_shows_again_is_no_news_and_stays_news_if_it_was() {
        let mut queue = queue(NONE);
        for (triggers, noted) in [
            (&[Trigger::Page][..], Trigger::Page),
            (&[Trigger::Page, Trigger::Hint], Trigger::Hint),
            (&[Trigger::Hint, Trigger::Page], Trigger::Hint),
        ] {
            queue.put(7, &"lane", Trigger::Page);
            assert_eq!(taken(&mut queue), [7]);
            for trigger in triggers {
                queue.put(7, &"lane", *trigger);
            }
            assert_eq!(queue.done(7, &"lane"), Some(noted), "{triggers:?}");
        }
    }

    #[test]
    fn a_full_lane_holds_up_no_other_and_continues_as_its_work_ends() {
        let mut queue = queue(Limits { per_lane: 2, ..NONE });
        for key in 0..5 {
            queue.put(key, &"full", Trigger::Hint);
        }
        assert_eq!(queue.startable(), 5);
        assert_eq!(taken(&mut queue), [0, 1]);
        assert_eq!((queue.startable(), queue.ready()), (0, 3), "its keys are in nobody's way");
        queue.put(10, &"open", Trigger::Hint);
        queue.put(5, &"full", Trigger::Hint);
        assert_eq!((queue.startable(), queue.ready()), (1, 5));
        assert_eq!(taken(&mut queue), [10]);
        queue.done(1, &"full");
        assert_eq!(queue.startable(), 4);
        assert_eq!(taken(&mut queue), [2]);
        for key in [0, 2, 10] {
            queue.done(key, if key == 10 { &"open" } else { &"full" });
        }
        assert_eq!(taken(&mut queue), [3, 4]);
        queue.done(3, &"full");
        assert_eq!(taken(&mut queue), [5]);
        queue.done(4, &"full");
        queue.done(5, &"full");
        assert_eq!((queue.in_progress(), queue.startable(), queue.ready()), (0, 0, 0));
        assert!(queue.lanes.is_empty() && queue.turn.is_empty() && queue.states.is_empty());
    }

    #[test]
    fn the_limit_in_all_holds_across_lanes() {
        let mut queue = queue(Limits { in_all: 3, ..NONE });
        for key in 0..6 {
            queue.put(key, if key % 2 == 0 { &"even" } else { &"odd" }, Trigger::Hint);
        }
        assert_eq!(taken(&mut queue), [0, 1, 2]);
        queue.done(1, &"odd");
        assert_eq!(taken(&mut queue), [3]);
        assert_eq!((queue.in_progress(), queue.ready()), (3, 2));
    }

    #[test]
    fn a_later_key_ripens_at_its_time_once() {
        let mut queue = queue(NONE);
        for due in [2, 3, 3] {
            assert_eq!(queue.put_delayed(7, "lane", at(due)), None);
        }
        queue.put_delayed(8, "lane", at(9));
        queue.promote_due(at(1));
        assert_eq!((queue.next(), queue.next_due()), (None, Some(at(2))));
        queue.promote_due(at(3));
        assert_eq!(taken(&mut queue), [7]);
        assert_eq!(queue.next_due(), Some(at(9)));
        queue.clear_delayed();
        queue.promote_due(at(9));
        assert_eq!((queue.next(), queue.next_due()), (None, None));
    }

    #[test]
    fn of_too_many_later_keys_those_due_last_are_dropped() {
        let mut queue = queue(NONE);
        for key in 0..MOST_LATER as u32 {
            assert_eq!(queue.put_delayed(key, "lane", at(10)), None);
        }
        assert_eq!(queue.put_delayed(0, "lane", at(20)), Some(at(20)));
        assert_eq!(queue.put_delayed(0, "lane", at(5)), Some(at(10)));
        assert_eq!((queue.later.len(), queue.next_due()), (MOST_LATER, Some(at(5))));
    }
}
