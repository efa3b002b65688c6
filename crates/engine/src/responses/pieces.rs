//! The pieces of answers in progress: which of them wait, and what they add to the text that was emitted.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use entourage_types::RunId;

use crate::{AgentDelta, Piece};

/// The most pieces that wait for the event of their run; an item has the whole text in any case.
const EARLY: usize = 1_000;

#[derive(Default)]
pub(super) struct Pieces {
    /// Pieces that came before the event of their run: pieces are published at once, events once they are
    /// committed.
    early: VecDeque<Arc<AgentDelta>>,
    /// How much of each run's answer in progress was emitted. What follows a gap is not: the item has the
    /// whole text.
    heard: HashMap<RunId, Emitted>,
}

impl Pieces {
    /// Holds a piece whose run is not known yet. If there is no room, drops the pieces of the run that has
    /// waited longest, which is mostly one that is not followed.
    pub(super) fn hold(&mut self, delta: Arc<AgentDelta>) {
        if self.early.len() >= EARLY
            && let Some(oldest) = self.early.front().map(|oldest| oldest.run)
        {
            self.early.retain(|held| held.run != oldest);
        }
        self.early.push_back(delta);
    }

    /// Returns the pieces of a run that were held until now.
    pub(super) fn held_of(&mut self, run: RunId) -> VecDeque<Arc<AgentDelta>> {
        let (own, others) = std::mem::take(&mut self.early).into_iter().partition(|delta| delta.run == run);
        self.early = others;
        own
    }

    /// Returns whether a piece voids what was emitted of its answer, and the text that it adds to that.
    pub(super) fn take(&mut self, delta: &AgentDelta) -> (bool, Option<String>) {
        self.heard.entry(delta.run).or_default().take(delta)
    }
}

/// What was emitted of an answer in progress.
#[derive(Debug, Clone, Copy, Default)]
struct Emitted {
    /// The number of its item, and which attempt at it.
    attempt: (u64, u64),
    /// The length of the emitted text in characters.
    length: u64,
}

impl Emitted {
    /// Returns whether a piece voids what was emitted before, and the text that it adds to that. A subscriber
    /// that is behind gets the text so far again, of which only the new part is added; what follows a gap
    /// adds nothing.
    fn take(&mut self, delta: &AgentDelta) -> (bool, Option<String>) {
        let attempt = (delta.item_seq, delta.attempt);
        if attempt < self.attempt {
            return (false, None);
        }
        let is_again = attempt.0 == self.attempt.0 && attempt != self.attempt && self.length > 0;
        let is_void = is_again || delta.piece == Piece::Reset;
        if is_void || attempt != self.attempt {
            *self = Self { attempt, length: 0 };
        }
        let Piece::Text(text) = &delta.piece else { return (is_void, None) };
        let known = self.length.checked_sub(delta.offset).and_then(|known| usize::try_from(known).ok());
        let new: String = known.map_or_else(String::new, |known| text.chars().skip(known).collect());
        self.length += new.chars().count() as u64;
        (is_void, Some(new).filter(|new| !new.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::AgentId;

    use super::*;

    #[test]
    fn pieces_after_a_gap_are_ignored_and_a_new_attempt_voids_the_old() {
        let (agent, run) = (AgentId::new(), RunId::new());
        let mut heard = Emitted::default();
        let mut take = |item_seq, attempt, offset, text: &str| {
            let piece = if text.is_empty() { Piece::Reset } else { Piece::Text(text.into()) };
            let (is_void, new) = heard.take(&AgentDelta { agent, run, item_seq, attempt, offset, piece });
            (is_void, new.unwrap_or_default())
        };
        let mut takes = |item_seq, attempt, offset, text: &str, expected: (bool, &str)| {
            let taken = take(item_seq, attempt, offset, text);
            assert_eq!((taken.0, taken.1.as_str()), expected, "{item_seq} {attempt} {offset} {text}");
        };
        takes(1, 1, 0, "añb", (false, "añb"));
        takes(1, 1, 3, "c", (false, "c"));
        takes(1, 1, 0, "añbcd", (false, "d"));
        takes(1, 1, 7, "g", (false, ""));
        takes(1, 1, 8, "h", (false, ""));
        takes(1, 1, 0, "", (true, ""));
        takes(1, 2, 0, "x", (false, "x"));
        takes(1, 3, 0, "y", (true, "y"));
        takes(1, 2, 1, "z", (false, ""));
        // The next item does not void the one before.
        takes(3, 4, 0, "n", (false, "n"));
    }

    #[test]
    fn a_full_buffer_of_early_pieces_drops_whole_runs() {
        let (other, own) = (RunId::new(), RunId::new());
        let agent = AgentId::new();
        let piece = |run, offset| {
            let piece = Piece::Text("x".into());
            Arc::new(AgentDelta { agent, run, item_seq: 1, attempt: 1, offset, piece })
        };
        let mut pieces = Pieces::default();
        (0..600).for_each(|offset| pieces.hold(piece(other, offset)));
        (0..401).for_each(|offset| pieces.hold(piece(own, offset)));
        let held: Vec<_> = pieces.early.iter().map(|delta| (delta.run, delta.offset)).collect();
        assert_eq!(held, (0..401).map(|offset| (own, offset)).collect::<Vec<_>>());
    }
}
