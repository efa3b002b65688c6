//! The pieces of an answer as they arrive: published to subscribers, beside the durable path.

use entourage_llm::{Delta, Deltas};

use super::request_progress::RequestProgress;
use crate::{AgentDelta, Clock, Piece, feed::Pieces, watchdog::Heartbeat};

/// Publishes the pieces of one attempt, with their offsets.
pub(super) struct Streamed<'a> {
    pieces: &'a Pieces,
    /// Whether subscribers see the pieces.
    is_shown: bool,
    pulse: (&'a Heartbeat, &'a dyn Clock),
    offset: u64,
    /// Whether any piece of the answer has arrived.
    began: bool,
    blank: AgentDelta,
    heard: RequestProgress,
}

impl<'a> Streamed<'a> {
    /// The pieces of an attempt; `blank` says whose they are.
    pub(super) fn new(
        pieces: &'a Pieces,
        is_shown: bool,
        pulse: (&'a Heartbeat, &'a dyn Clock),
        blank: AgentDelta,
    ) -> Self {
        Self { pieces, is_shown, pulse, offset: 0, began: false, blank, heard: RequestProgress::nothing() }
    }

    /// Takes back what subscribers have seen of an answer that is of no use.
    pub(super) fn take_back(&mut self) {
        if self.began {
            self.offset = 0;
            self.send(Piece::Reset);
        }
    }

    /// What was heard of the requests.
    pub(super) fn into_heard(mut self) -> RequestProgress {
        std::mem::replace(&mut self.heard, RequestProgress::nothing())
    }

    fn send(&self, piece: Piece) {
        if !self.is_shown {
            return;
        }
        self.pieces.send(AgentDelta { offset: self.offset, piece, ..self.blank.clone() });
    }
}

impl Drop for Streamed<'_> {
    fn drop(&mut self) {
        if self.is_shown {
            self.pieces.over(self.blank.agent);
        }
    }
}

impl Deltas for Streamed<'_> {
    fn delta(&mut self, delta: Delta) {
        let (pulse, clock) = self.pulse;
        let now = clock.now();
        pulse.beat(clock.tick());
        self.heard.hear(&delta, now);
        self.began |= matches!(delta, Delta::Text(_) | Delta::Reasoning(_) | Delta::Call { .. });
        match delta {
            Delta::Queued
            | Delta::Sent
            | Delta::Taken
            | Delta::RequestsRemaining(_)
            | Delta::DiscardedUsage(_)
            | Delta::PartialUsage(_) => {}
            Delta::Text(text) => {
                let length = text.chars().count() as u64;
                self.send(Piece::Text(text));
                self.offset += length;
            }
            Delta::Reasoning(text) => self.send(Piece::Reasoning(text)),
            Delta::Call { tool } => self.send(Piece::Call(tool)),
        }
    }
}
