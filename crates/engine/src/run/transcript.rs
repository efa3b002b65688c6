//! The transcript of the current session, as an activation holds it in memory.

use entourage_types::{Item, Output, RunId, Step};

use super::tools::output_limits;
use crate::prompt::Chain;

/// The items of the session, and how many bytes of tool outputs it keeps.
pub(super) struct Transcript {
    items: Vec<Item>,
    /// The bytes of outputs, including those of the current turn that have not joined the items yet.
    kept: usize,
    /// The messages of the last request, digested.
    chain: Option<Chain>,
}

impl Transcript {
    pub(super) fn new(items: Vec<Item>, chain: Option<Chain>, steps: &[Step]) -> Self {
        let kept = output_limits::kept(&items, steps);
        Self { items, kept, chain }
    }

    pub(super) fn chain(&self) -> Option<Chain> {
        self.chain
    }

    /// Keeps the digested messages of a request for the next one.
    pub(super) fn keep_chain(&mut self, chain: Chain) {
        self.chain = Some(chain);
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns the items that a run wrote at the end of the session, latest first.
    pub(super) fn latest_of(&self, run: RunId) -> impl Iterator<Item = &Item> {
        self.items.iter().rev().take_while(move |item| item.run == run)
    }

    pub(super) fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    /// Cuts an output if the session already keeps too much, and counts it. `shown` is how many characters of
    /// one output the model reads.
    pub(super) fn keep_within(&mut self, output: &mut Output, shown: usize) {
        output_limits::keep_within(&mut self.kept, output, shown);
    }

    /// Whether the session keeps so much that of each further output only its beginning is kept.
    pub(super) fn is_full(&self) -> bool {
        output_limits::is_full(self.kept)
    }

    /// Counts other bytes that the session keeps.
    pub(super) fn keep_bytes(&mut self, bytes: usize) {
        self.kept += bytes;
    }

    /// Takes the items out, so that they can be read while the run they belong to is changed; nothing may
    /// join meanwhile. The caller [returns](Self::give_back) them.
    pub(super) fn lend(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.items)
    }

    pub(super) fn give_back(&mut self, items: Vec<Item>) {
        self.items = items;
    }

    /// Empties the transcript for a new session.
    pub(super) fn clear(&mut self) {
        (self.items, self.kept, self.chain) = (Vec::new(), 0, None);
    }

    pub(super) fn into_parts(self) -> (Vec<Item>, Option<Chain>) {
        (self.items, self.chain)
    }
}
