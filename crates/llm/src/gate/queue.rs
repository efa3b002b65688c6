//! The queue before a gate: people before background work, and within each priority the owners in turns, so
//! that no owner waits for all requests of another.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use entourage_types::Owner;
use tokio::sync::Notify;

use crate::Priority;

/// The waiting calls.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The owner whose turn it is comes first. No line is empty.
    lines: BTreeMap<Priority, VecDeque<OwnerQueue>>,
    tickets: u64,
}

/// The calls of one owner, in the order they came.
#[derive(Debug)]
struct OwnerQueue {
    owner: Option<Owner>,
    calls: BTreeMap<u64, Arc<Notify>>,
}

/// The next call of an owner.
pub(super) struct Next<'q> {
    pub(super) priority: Priority,
    pub(super) owner: Option<&'q Owner>,
    pub(super) ticket: u64,
    pub(super) called: &'q Notify,
}

impl Queue {
    /// Queues a call behind all others of its owner. Returns its ticket, and the notifier that wakes it.
    pub(super) fn join(&mut self, priority: Priority, owner: Option<Owner>) -> (u64, Arc<Notify>) {
        self.tickets += 1;
        let called = Arc::new(Notify::new());
        let lines = self.lines.entry(priority).or_default();
        let call = (self.tickets, Arc::clone(&called));
        match lines.iter_mut().find(|line| line.owner == owner) {
            Some(line) => drop(line.calls.insert(call.0, call.1)),
            None => lines.push_back(OwnerQueue { owner, calls: BTreeMap::from([call]) }),
        }
        (self.tickets, called)
    }

    /// Returns the next call of each owner and priority, in the order in which they go.
    pub(super) fn next(&self) -> impl Iterator<Item = Next<'_>> {
        let lines =
            self.lines.iter().flat_map(|(priority, lines)| lines.iter().map(|line| (*priority, line)));
        lines.filter_map(|(priority, OwnerQueue { owner, calls })| {
            let (ticket, called) = calls.first_key_value()?;
            Some(Next { priority, owner: owner.as_ref(), ticket: *ticket, called })
        })
    }

    /// Removes a call. If it has `passed`, all other owners get their turn before its owner's next call.
    pub(super) fn leave(&mut self, priority: Priority, ticket: u64, passed: bool) {
        let Some(lines) = self.lines.get_mut(&priority) else { return };
        let Some(at) = lines.iter().position(|line| line.calls.contains_key(&ticket)) else { return };
        lines[at].calls.remove(&ticket);
        if passed || lines[at].calls.is_empty() {
            let line = lines.remove(at);
            lines.extend(line.filter(|line| !line.calls.is_empty()));
        }
        if lines.is_empty() {
            self.lines.remove(&priority);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.values().flatten().map(|line| line.calls.len()).sum()
    }
}
