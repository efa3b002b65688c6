//! Calls are made side by side, and some of what they come to waits for calls before them: work for
//! others and questions keep the order of the calls, and an answer comes after all else.

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

    /// A call has come to something. Returns what can be settled now: work for others and questions wait
    /// for the calls of the same tool before them, an answer for all calls of the turn.
    pub(super) fn ended(&mut self, calls: &[ToolCall], index: usize, said: Said) -> Vec<(usize, Said)> {
        self.under_way.remove(&index);
        self.held.insert(index, said);
        let waits = |at: usize, said: &Said| {
            let is_same = |before: &usize| calls[*before].tool == calls[at].tool;
            match said {
                Ok(Outcome::Delegate(_) | Outcome::Ask(_)) => self.under_way.range(..at).any(is_same),
                Ok(Outcome::Done(done)) => done.answer.is_some() && !self.under_way.is_empty(),
                _ => false,
            }
        };
        let (held, free) =
            std::mem::take(&mut self.held).into_iter().partition(|(at, said)| waits(*at, said));
        self.held = held;
        let free: BTreeMap<usize, Said> = free;
        let is_answer = |said: &Said| matches!(said, Ok(Outcome::Done(done)) if done.answer.is_some());
        let (answers, others): (Vec<_>, Vec<_>) = free.into_iter().partition(|(_, said)| is_answer(said));
        others.into_iter().chain(answers).collect()
    }
}
