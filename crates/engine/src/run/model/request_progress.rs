//! What the pieces of an answer say of the requests that were made for it.

use std::time::Duration;

use entourage_llm::Delta;
use entourage_types::{Asked, ModelUse, Time};

/// How far the last request of a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) enum RequestStage {
    /// The gate holds it back.
    Queued,
    /// It was sent, as far as is known.
    Sent,
    /// The provider has accepted it, and has not said yet all that it used.
    Accepted,
    /// Its answer was of no use, and the provider has said what it used.
    Reported,
}

/// What was heard of the requests of one attempt.
pub(super) struct RequestProgress {
    pub(super) stage: RequestStage,
    /// The usage of unusable answers.
    pub(super) wasted: Vec<ModelUse>,
    /// When the gate let the first request pass.
    sent: Option<Time>,
    first_token: Option<Time>,
}

impl RequestProgress {
    pub(super) const fn nothing() -> Self {
        Self { stage: RequestStage::Sent, wasted: Vec::new(), sent: None, first_token: None }
    }

    /// Notes what a piece that arrives now says.
    pub(super) fn hear(&mut self, delta: &Delta, now: Time) {
        match delta {
            Delta::Queued => self.stage = RequestStage::Queued,
            Delta::Sent => {
                self.stage = RequestStage::Sent;
                self.sent.get_or_insert(now);
            }
            Delta::Taken => self.stage = RequestStage::Accepted,
            Delta::DiscardedUsage(used) => {
                self.stage = RequestStage::Reported;
                self.wasted.push(used.clone());
            }
            Delta::PartialUsage(used) => {
                self.stage = RequestStage::Accepted;
                self.wasted.push(used.clone());
            }
            Delta::Text(_) | Delta::Reasoning(_) | Delta::Call { .. } => {
                self.first_token.get_or_insert(now);
            }
            Delta::RequestsRemaining(_) => {}
        }
    }

    /// Returns how the model was asked, with the times at which the request went on.
    pub(super) fn timed(&self, asked: Asked) -> Asked {
        let waited = self.sent.map_or(Duration::ZERO, |sent| sent.since(asked.at));
        let gate_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        Asked { gate_ms, first_token: self.first_token, ..asked }
    }
}
