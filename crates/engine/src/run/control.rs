//! How an activation is controlled from outside, and what it was asked to do.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use entourage_types::{PostId, Time};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{Clock, Tick, activations::ActivationGuard, restart::ExclusiveTurn, watchdog::Heartbeat};

/// The controls of one activation.
pub(super) struct Control {
    /// When it began to work, moved forward by the time that it only waited.
    began: Tick,
    /// The moment that its delivery was for.
    due_by: Time,
    /// Cancelled when the activation must end where it is: the process stops, or a person intervenes.
    cancel: CancellationToken,
    /// Notified when the agent may have something new to read.
    woken: Arc<Notify>,
    /// Where it publishes which message it answers.
    answers: Arc<Mutex<Option<PostId>>>,
    /// Beats with each commit and each piece of an answer.
    pulse: Arc<Heartbeat>,
    /// Whether it is paused: it begins nothing new.
    paused: bool,
    /// Whether to make an attempt now that is due later.
    hurried: bool,
    /// The turn of a run that is resumed alone, held until its first commit.
    alone: ExclusiveTurn,
}

impl Control {
    pub(super) fn new(entered: &ActivationGuard, clock: &dyn Clock, paused: bool) -> Self {
        Self {
            began: clock.tick(),
            due_by: clock.now(),
            cancel: entered.cancel_token().clone(),
            woken: Arc::clone(entered.woken()),
            answers: Arc::clone(entered.answers()),
            pulse: Arc::clone(entered.pulse()),
            paused,
            hurried: false,
            alone: None,
        }
    }

    pub(super) fn take_up_alone(&mut self, alone: ExclusiveTurn) {
        self.alone = alone;
    }

    /// The same control, for a delivery of what is due by this moment.
    pub(super) fn due_by(self, due_by: Time) -> Self {
        Self { due_by, ..self }
    }

    /// The moment by which something is due at `now` by this engine's clock.
    pub(super) fn moment(&self, now: Time) -> Time {
        self.due_by.max(now)
    }

    pub(super) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    pub(super) fn woken(&self) -> &Arc<Notify> {
        &self.woken
    }

    pub(super) fn pulse(&self) -> &Arc<Heartbeat> {
        &self.pulse
    }

    /// Records a commit: a sign of life, and the end of a turn alone.
    pub(super) fn committed(&mut self, now: Tick) {
        self.pulse.beat(now);
        self.alone = None;
    }

    pub(super) fn worked(&self, now: Tick) -> Duration {
        now.since(self.began)
    }

    /// Excludes a time that the activation waited from its time at work.
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

    /// Makes the next attempt now, whenever it is due.
    pub(super) fn hurry(&mut self) {
        self.hurried = true;
    }

    /// Whether a person wants the attempt that begins now. Resets that: later attempts wait until they are
    /// due.
    pub(super) fn take_hurry(&mut self) -> bool {
        std::mem::take(&mut self.hurried)
    }

    /// Returns the message that the run answers, if a run of its own answers it.
    pub(super) fn answers(&self) -> Option<PostId> {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes which message the run answers, for a caller that cancels that answer.
    pub(super) fn set_answers(&self, post: Option<PostId>) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = post;
    }
}
