//! Why a run does not do something, and goes on.

use super::{Interrupt, Result};

/// Why something was not done: for a reason that the run goes on with, or because the run is interrupted.
#[derive(Debug)]
pub(in crate::run) enum StepError<R> {
    Because(R),
    Interrupted(Interrupt),
}

impl<R> StepError<R> {
    /// Returns the reason.
    ///
    /// # Errors
    /// The [`Interrupt`], if the run is interrupted.
    pub(in crate::run) fn reason(self) -> Result<R> {
        match self {
            Self::Because(reason) => Ok(reason),
            Self::Interrupted(interrupt) => Err(interrupt),
        }
    }
}

impl<R, E> From<E> for StepError<R>
where
    Interrupt: From<E>,
{
    fn from(error: E) -> Self {
        Self::Interrupted(error.into())
    }
}

/// The output of a call that is not made.
#[derive(Debug)]
pub(in crate::run) struct CallRejected(pub(in crate::run) String);

impl From<CallRejected> for StepError<CallRejected> {
    fn from(reason: CallRejected) -> Self {
        Self::Because(reason)
    }
}

/// The name of the guardrail that refuses a text, and why.
#[derive(Debug)]
pub(in crate::run) struct Refusal {
    pub(in crate::run) by: String,
    pub(in crate::run) why: String,
}

impl From<Refusal> for StepError<Refusal> {
    fn from(reason: Refusal) -> Self {
        Self::Because(reason)
    }
}
