//! Work for others is given away in the order of the calls, though they are made side by side: what
//! one agent is asked first it answers first.

use std::collections::{BTreeMap, BTreeSet};

use entourage_tools::{Error, Outcome};
use entourage_types::ToolCall;

type Said = Result<Outcome, Error>;

/// The calls under way, and what those came to that must wait for one before them.
#[derive(Default)]
pub(super) struct Order {
    under_way: BTreeSet<usize>,
    held: BTreeMap<usize, Said>,
}

impl Order {
    /// A call is under way.
    pub(super) fn begun(&mut self, index: usize) {
        self.under_way.insert(index);
    }

    /// A call has come to something. Returns what can be settled now: work for others waits for the
    /// calls of the same tool before it.
    pub(super) fn ended(&mut self, calls: &[ToolCall], index: usize, said: Said) -> Vec<(usize, Said)> {
        self.under_way.remove(&index);
        self.held.insert(index, said);
        let waits = |at: usize, said: &Said| {
            let is_same = |before: &usize| calls[*before].tool == calls[at].tool;
            matches!(said, Ok(Outcome::Delegate(_))) && self.under_way.range(..at).any(is_same)
        };
        let (held, free) =
            std::mem::take(&mut self.held).into_iter().partition(|(at, said)| waits(*at, said));
        self.held = held;
        let free: BTreeMap<usize, Said> = free;
        free.into_iter().collect()
    }
}
