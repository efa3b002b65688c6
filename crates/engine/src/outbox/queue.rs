//! The next deliveries, in memory: a queue for each receiver, so that none waits for another. All of it can
//! be read again from the store.

use std::collections::{BTreeSet, HashMap, HashSet};

use entourage_types::{DeliveryId, Time};

/// The most deliveries to one receiver in progress at once.
const PLACES: usize = 4;

#[derive(Default)]
pub(super) struct Queue {
    lines: HashMap<String, Line>,
}

#[derive(Default)]
struct Line {
    waiting: BTreeSet<(Time, DeliveryId)>,
    under_way: HashSet<DeliveryId>,
}

impl Queue {
    /// Puts a delivery into the queue of its receiver, unless it is in progress.
    pub(super) fn put(&mut self, receiver: &str, due: Time, id: DeliveryId) {
        let line = match self.lines.get_mut(receiver) {
            Some(line) => line,
            None => self.lines.entry(receiver.to_owned()).or_default(),
        };
        if !line.under_way.contains(&id) {
            line.waiting.insert((due, id));
        }
    }

    /// Forgets the waiting deliveries, which are about to be read again.
    pub(super) fn clear(&mut self) {
        self.lines.values_mut().for_each(|line| line.waiting.clear());
    }

    /// Takes a delivery that is due and whose receiver has a free place.
    pub(super) fn take(&mut self, now: Time) -> Option<(String, DeliveryId)> {
        self.lines.iter_mut().find_map(|(receiver, line)| {
            if line.under_way.len() >= PLACES {
                return None;
            }
            line.waiting.first().filter(|(due, _)| *due <= now)?;
            let (_, id) = line.waiting.pop_first()?;
            // A delivery that is queued twice, for two times, is in progress once.
            line.under_way.insert(id).then(|| (receiver.clone(), id))
        })
    }

    /// Notes that a delivery is not in progress any more; it waits again until `again`, if that is given.
    pub(super) fn ended(&mut self, receiver: &str, id: DeliveryId, again: Option<Time>) {
        if let Some(line) = self.lines.get_mut(receiver) {
            line.under_way.remove(&id);
        }
        if let Some(due) = again {
            self.put(receiver, due, id);
        }
    }

    /// When the first delivery whose receiver has a free place is due.
    pub(super) fn next(&self) -> Option<Time> {
        let open = self.lines.values().filter(|line| line.under_way.len() < PLACES);
        open.filter_map(|line| line.waiting.first().map(|(due, _)| *due)).min()
    }
}
