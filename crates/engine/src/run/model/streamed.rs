//! The pieces of an answer as they arrive: published to subscribers, beside the durable path.

use std::time::Duration;

use entourage_llm::{Delta, Deltas};
use entourage_types::{Asked, ModelUse, Time};

use super::reserve::Progress;
use crate::{
    Clock,
    feed::{AgentDelta, Piece, Pieces},
    watchdog::Heartbeat,
};

/// Publishes the pieces of one attempt, with their offsets.
pub(super) struct Streamed<'a> {
    pieces: &'a Pieces,
    /// Whether subscribers see the pieces.
    is_shown: bool,
    pulse: (&'a Heartbeat, &'a dyn Clock),
    offset: u64,
    /// Whether any piece of the answer has arrived.
    began: bool,
    progress: Progress,
    blank: AgentDelta,
    /// The usage of unusable answers.
    wasted: Vec<ModelUse>,
    /// When the gate let the request pass.
    sent: Option<Time>,
    first_token: Option<Time>,
}

impl<'a> Streamed<'a> {
    /// The pieces of an attempt; `blank` says whose they are.
    pub(super) fn new(
        pieces: &'a Pieces,
        is_shown: bool,
        pulse: (&'a Heartbeat, &'a dyn Clock),
        blank: AgentDelta,
    ) -> Self {
        Self {
            pieces,
            is_shown,
            pulse,
            offset: 0,
            began: false,
            progress: Progress::Sent,
            blank,
            wasted: Vec::new(),
            sent: None,
            first_token: None,
        }
    }

    /// Takes back what subscribers have seen of an answer that is of no use.
    pub(super) fn take_back(&mut self) {
        if self.began {
            self.offset = 0;
            self.send(Piece::Reset);
        }
    }

    /// The usage of unusable answers.
    pub(super) fn take_wasted(&mut self) -> Vec<ModelUse> {
        std::mem::take(&mut self.wasted)
    }

    /// How far the last request came.
    pub(super) const fn progress(&self) -> Progress {
        self.progress
    }

    /// Returns how the model was asked, with the times at which the request went on.
    pub(super) fn timed(&self, asked: Asked) -> Asked {
        let waited = self.sent.map_or(Duration::ZERO, |sent| sent.since(asked.at));
        let gate_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        Asked { gate_ms, first_token: self.first_token, ..asked }
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
        pulse.beat(now);
        self.progress.hear(&delta);
        if matches!(delta, Delta::Text(_) | Delta::Reasoning(_) | Delta::Call { .. }) {
            self.began = true;
            self.first_token.get_or_insert(now);
        }
        match delta {
            Delta::Sent => drop(self.sent.get_or_insert(now)),
            Delta::Queued | Delta::Taken | Delta::RequestsRemaining(_) => {}
            Delta::Text(text) => {
                let length = text.chars().count() as u64;
                self.send(Piece::Text(text));
                self.offset += length;
            }
            Delta::Reasoning(text) => self.send(Piece::Reasoning(text)),
            Delta::Call { tool } => self.send(Piece::Call(tool)),
            Delta::DiscardedUsage(used) => self.wasted.push(used),
        }
    }
}
