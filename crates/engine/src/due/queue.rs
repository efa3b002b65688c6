//! Keys by the time at which they are due, in lanes.

use std::{
    collections::{BTreeSet, HashMap, btree_set},
    hash::Hash,
};

use entourage_types::Time;

/// Keys that wait and keys in progress. Every operation takes logarithmic time.
pub(super) struct Queue<K, L> {
    places: usize,
    lanes: HashMap<L, Lane<K>>,
    /// The lanes with a free place, by when their first key is due.
    free: BTreeSet<(Time, L)>,
}

struct Lane<K> {
    waiting: BTreeSet<(Time, K)>,
    due: HashMap<K, Time>,
    /// Keys in progress, and when they are due again because they were put meanwhile.
    in_progress: HashMap<K, Option<Time>>,
}

impl<K> Default for Lane<K> {
    fn default() -> Self {
        Self { waiting: BTreeSet::new(), due: HashMap::new(), in_progress: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash + Ord, L: Clone + Eq + Hash + Ord> Queue<K, L> {
    /// A queue with this many places in each lane.
    pub(super) fn new(places: usize) -> Self {
        Self { places, lanes: HashMap::new(), free: BTreeSet::new() }
    }

    /// Puts a key into its lane. One that waits already is due at the earlier time; one in progress is due again
    /// once that ends.
    pub(super) fn put(&mut self, lane: &L, key: K, due: Time) {
        self.change(lane, |lane| match lane.in_progress.get_mut(&key) {
            Some(again) => *again = Some(again.map_or(due, |again| again.min(due))),
            None => lane.put(key, due),
        });
    }

    /// Takes the key that has been due for longest, of those whose lane has a free place.
    pub(super) fn take(&mut self, now: Time) -> Option<K> {
        let (_, lane) = self.free.first().filter(|(due, _)| *due <= now)?.clone();
        let mut taken = None;
        self.change(&lane, |lane| {
            if let Some((_, key)) = lane.waiting.pop_first() {
                lane.due.remove(&key);
                lane.in_progress.insert(key.clone(), None);
                taken = Some(key);
            }
        });
        taken
    }

    /// Ends the progress of a key, which is due again at `again`, or because it was put meanwhile, but not before
    /// `earliest`.
    pub(super) fn ended(&mut self, lane: &L, key: K, again: Option<Time>, earliest: Time) {
        self.change(lane, |lane| {
            let put = lane.in_progress.remove(&key).flatten();
            if let Some(due) = [again, put].into_iter().flatten().min() {
                lane.put(key, due.max(earliest));
            }
        });
    }

    /// Forgets the keys that wait, which are about to be read again.
    pub(super) fn clear(&mut self) {
        self.free.clear();
        self.lanes.retain(|_, lane| {
            lane.waiting.clear();
            lane.due.clear();
            !lane.in_progress.is_empty()
        });
    }

    /// When the first key is due whose lane has a free place.
    pub(super) fn next(&self) -> Option<Time> {
        self.free.first().map(|(due, _)| *due)
    }

    /// Changes a lane, and keeps the order of the lanes true.
    fn change(&mut self, name: &L, change: impl FnOnce(&mut Lane<K>)) {
        let lane = self.lanes.entry(name.clone()).or_default();
        if let Some(due) = lane.first() {
            self.free.remove(&(due, name.clone()));
        }
        change(lane);
        match lane.first() {
            Some(due) if lane.in_progress.len() < self.places => {
                self.free.insert((due, name.clone()));
            }
            None if lane.in_progress.is_empty() => {
                self.lanes.remove(name);
            }
            _ => {}
        }
    }
}

impl<K: Clone + Eq + Hash + Ord> Lane<K> {
    fn first(&self) -> Option<Time> {
        let mut waiting: btree_set::Iter<'_, (Time, K)> = self.waiting.iter();
        waiting.next().map(|(due, _)| *due)
    }

    fn put(&mut self, key: K, due: Time) {
        if let Some(before) = self.due.get(&key).copied() {
            if before <= due {
                return;
            }
            self.waiting.remove(&(before, key.clone()));
        }
        self.due.insert(key.clone(), due);
        self.waiting.insert((due, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Time {
        Time::from_micros(second * 1_000_000)
    }

    #[test]
    fn a_full_lane_holds_up_no_other() {
        let mut queue = Queue::new(2);
        (0..4).for_each(|key| queue.put(&"a", key, at(key)));
        queue.put(&"b", 9, at(3));
        assert_eq!(queue.next(), Some(at(0)));
        let taken: Vec<_> = std::iter::from_fn(|| queue.take(at(5))).collect();
        assert_eq!(taken, [0, 1, 9]);
        assert_eq!(queue.next(), None, "what waits has no place");
        queue.ended(&"a", 1, None, at(0));
        assert_eq!((queue.next(), queue.take(at(1)), queue.take(at(2))), (Some(at(2)), None, Some(2)));
    }

    #[test]
    fn a_key_that_is_put_while_in_progress_is_due_again_after_it() {
        let mut queue = Queue::new(8);
        queue.put(&(), 1, at(0));
        assert_eq!(queue.take(at(0)), Some(1));
        queue.put(&(), 1, at(4));
        queue.put(&(), 1, at(2));
        assert_eq!(queue.take(at(9)), None);
        queue.ended(&(), 1, Some(at(3)), at(0));
        assert_eq!((queue.take(at(1)), queue.take(at(2)), queue.take(at(9))), (None, Some(1), None));
        queue.put(&(), 1, at(2));
        queue.ended(&(), 1, Some(at(7)), at(7));
        assert_eq!((queue.take(at(6)), queue.take(at(7))), (None, Some(1)));
    }

    #[test]
    fn a_waiting_key_is_due_at_the_earliest_time_it_was_put_for() {
        let mut queue = Queue::new(8);
        [5, 2, 4].into_iter().for_each(|due| queue.put(&(), 1, at(due)));
        assert_eq!((queue.take(at(2)), queue.take(at(9))), (Some(1), None));
        queue.ended(&(), 1, None, at(0));
        assert!(queue.lanes.is_empty() && queue.free.is_empty());
        queue.put(&(), 1, at(3));
        queue.put(&(), 2, at(3));
        assert_eq!(queue.take(at(3)), Some(1));
        queue.clear();
        assert_eq!((queue.next(), queue.take(at(9))), (None, None));
        queue.ended(&(), 1, Some(at(4)), at(0));
        assert_eq!(queue.next(), Some(at(4)));
    }
}
