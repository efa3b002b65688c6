//! How an activation is steered from outside, and what it has been asked to do.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use entourage_types::{PostId, Time};
use tokio_util::sync::CancellationToken;

use crate::{activations::ActivationGuard, restart::Alone, watchdog::Heartbeat};

/// The controls of one activation.
pub(super) struct Control {
    /// When it began to work.
    began: Time,
    /// Cancelled when the activation is to end where it is: the process stops, or a person intervenes.
    cancel: CancellationToken,
    /// Where it publishes which message it answers.
    answers: Arc<Mutex<Option<PostId>>>,
    /// Beats with each commit and each piece of an answer.
    pulse: Arc<Heartbeat>,
    /// Whether a person wants it to begin nothing new.
    paused: bool,
    /// Whether an attempt that is due later is made now.
    hurried: bool,
    /// Held by one that is taken up alone, until it has committed something.
    alone: Alone,
}

impl Control {
    pub(super) fn new(entered: &ActivationGuard, began: Time, paused: bool) -> Self {
        Self {
            began,
            cancel: entered.cancel_token().clone(),
            answers: Arc::clone(entered.answers()),
            pulse: Arc::clone(entered.pulse()),
            paused,
            hurried: false,
            alone: None,
        }
    }

    pub(super) fn take_up_alone(&mut self, alone: Alone) {
        self.alone = alone;
    }

    pub(super) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    pub(super) fn pulse(&self) -> &Heartbeat {
        &self.pulse
    }

    /// The activation committed something.
    pub(super) fn committed(&mut self, now: Time) {
        self.pulse.beat(now);
        self.alone = None;
    }

    pub(super) fn worked(&self, now: Time) -> Duration {
        now.since(self.began)
    }

    /// The activation has waited, and not worked, for so long.
    pub(super) fn waited(&mut self, time: Duration) {
        self.began = self.began + time;
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    pub(super) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    pub(super) fn is_hurried(&self) -> bool {
        self.hurried
    }

    /// The next attempt is made now, whenever it is due.
    pub(super) fn hurry(&mut self) {
        self.hurried = true;
    }

    /// Whether the attempt that begins is one that a person wants now. Those after it are not.
    pub(super) fn take_hurry(&mut self) -> bool {
        std::mem::take(&mut self.hurried)
    }

    /// The message that the run answers, where it answers no other.
    pub(super) fn answers(&self) -> Option<PostId> {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes which message the run answers, for a caller who wants that no more.
    pub(super) fn set_answers(&self, post: Option<PostId>) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = post;
    }
}
