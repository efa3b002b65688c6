//! Why a program did not come to its end, and what people read of it.

use entourage_llm::Error as ModelError;
use entourage_store::Error as StoreError;
use entourage_types::{StopReason, WaitingOn};

/// Why a program did not come to its end in this activation.
#[derive(Debug)]
pub enum Interrupt {
    /// It sleeps on disk until what it waits on happens.
    Suspended(WaitingOn),
    /// The process ends, or a person intervenes; the wake-ups stand, and the run goes on from here.
    Stopping,
    /// It was ended, with an honest reason.
    Stopped(Stop),
    /// The store failed, or another activation has taken the agent.
    Store(StoreError),
}

impl Interrupt {
    /// The kind, a tool or the engine itself is at fault.
    pub(crate) fn failed(cause: impl Into<String>) -> Self {
        Self::stopped(StopReason::Error, cause)
    }

    /// Ended for this reason, by a cause that is for people, too.
    pub(crate) fn stopped(reason: StopReason, cause: impl Into<String>) -> Self {
        Self::Stopped(Stop::new(reason, cause))
    }
}

impl From<StoreError> for Interrupt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<serde_json::Error> for Interrupt {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Why a run was ended before its program was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// A stable word.
    pub reason: StopReason,
    /// A sentence for people.
    pub text: String,
    /// The cause in the words of what failed, which is for logs and programs: a provider's names models,
    /// addresses and accounts.
    pub cause: String,
}

impl Stop {
    /// One whose cause is for people, too.
    #[must_use]
    pub fn new(reason: StopReason, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        Self { reason, text: cause.clone(), cause }
    }

    /// A model that failed for good, last by `error`; `cause` is everything that was said.
    pub(super) fn of_model(error: &ModelError, cause: String) -> Self {
        let reason = if error.is_empty() { StopReason::EmptyResponse } else { StopReason::ModelFailed };
        Self { reason, text: error.for_people().to_owned(), cause }
    }
}
