//! Who is to be told what next, in memory: a line for each receiver, so that none waits for another.
//! All of it can be read again.

use std::collections::{BTreeSet, HashMap, HashSet};

use entourage_types::{DeliveryId, Time};

/// So many deliveries of one receiver are under way at once.
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
    /// Puts a delivery into the line of its receiver, unless it is under way.
    pub(super) fn put(&mut self, receiver: &str, due: Time, id: DeliveryId) {
        let line = match self.lines.get_mut(receiver) {
            Some(line) => line,
            None => self.lines.entry(receiver.to_owned()).or_default(),
        };
        if !line.under_way.contains(&id) {
            line.waiting.insert((due, id));
        }
    }

    /// Forgets whoever waits, who are about to be read anew.
    pub(super) fn clear(&mut self) {
        self.lines.values_mut().for_each(|line| line.waiting.clear());
    }

    /// Takes a delivery whose time has come and for which there is a place.
    pub(super) fn take(&mut self, now: Time) -> Option<(String, DeliveryId)> {
        self.lines.iter_mut().find_map(|(receiver, line)| {
            if line.under_way.len() >= PLACES {
                return None;
            }
            line.waiting.first().filter(|(due, _)| *due <= now)?;
            let (_, id) = line.waiting.pop_first()?;
            // One that stands in line twice, for two times, is under way once.
            line.under_way.insert(id).then(|| (receiver.clone(), id))
        })
    }

    /// A delivery is not under way any more; it waits again until then, if it is to.
    pub(super) fn ended(&mut self, receiver: &str, id: DeliveryId, again: Option<Time>) {
        if let Some(line) = self.lines.get_mut(receiver) {
            line.under_way.remove(&id);
        }
        if let Some(due) = again {
            self.put(receiver, due, id);
        }
    }

    /// When the first of those is due for whom there is a place.
    pub(super) fn next(&self) -> Option<Time> {
        let open = self.lines.values().filter(|line| line.under_way.len() < PLACES);
        open.filter_map(|line| line.waiting.first().map(|(due, _)| *due)).min()
    }
}
