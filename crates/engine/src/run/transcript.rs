//! The transcript of the current session, as an activation has it in memory.

use entourage_types::{Item, Output, RunId, Step};

use super::tools::kept;

/// The items of the session, and how much of tools' outputs they keep.
pub(super) struct Transcript {
    items: Vec<Item>,
    /// In bytes; outputs of a turn under way are counted before they join.
    kept: usize,
}

impl Transcript {
    pub(super) fn new(items: Vec<Item>, steps: &[Step]) -> Self {
        let kept = kept::kept(&items, steps);
        Self { items, kept }
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// What a run wrote, the latest first.
    pub(super) fn latest_of(&self, run: RunId) -> impl Iterator<Item = &Item> {
        self.items.iter().rev().take_while(move |item| item.run == run)
    }

    pub(super) fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    /// Cuts an output where the session keeps too much already, and counts it. `shown` is how much of one output
    /// a model sees, in characters.
    pub(super) fn keep_within(&mut self, output: &mut Output, shown: usize) {
        kept::keep_within(&mut self.kept, output, shown);
    }

    /// Lends the items while the run they belong to is changed; nothing may join meanwhile. To be
    /// [returned](Self::give_back).
    pub(super) fn lend(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.items)
    }

    pub(super) fn give_back(&mut self, items: Vec<Item>) {
        self.items = items;
    }

    /// A new session begins.
    pub(super) fn clear(&mut self) {
        (self.items, self.kept) = (Vec::new(), 0);
    }

    pub(super) fn into_items(self) -> Vec<Item> {
        self.items
    }
}
