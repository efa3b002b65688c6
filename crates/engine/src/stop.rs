//! Why a program did not complete, and what people read about it.

use entourage_llm::Error as ModelError;
use entourage_store::Error as StoreError;
use entourage_types::{AnswerFlaw, Failed, StopReason, WaitingOn};

/// Why a program did not complete in this activation.
#[derive(Debug)]
pub enum Interrupt {
    /// The run sleeps on disk until what it waits on happens.
    Suspended(WaitingOn),
    /// The process ends, or a person intervenes. The wake-ups stay in the store, and the run continues from
    /// here.
    Stopping,
    /// A person changed the instruction on which a [phase](crate::run::Run::phase) works. The phase begins anew.
    Replaced,
    /// The run was ended, for this reason.
    Stopped(Stop),
    /// The store failed, or another activation has taken the agent.
    Store(StoreError),
}

impl Interrupt {
    /// Creates the interrupt that ends a run for a fault of the kind, a tool or the engine itself.
    pub(crate) fn failed(cause: impl Into<String>) -> Self {
        Self::stopped(StopReason::Error, cause)
    }

    /// Creates the interrupt that ends a run for this reason; people read the cause as it is.
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
        Self::failed(format!("a value does not have the expected form: {error}"))
    }
}

/// Why a run was ended before its program completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// A stable word.
    pub reason: StopReason,
    /// A sentence for people.
    pub text: String,
    /// The cause in the original text of what failed, for logs and programs: a provider's text names models,
    /// addresses and accounts.
    pub cause: String,
    /// What was wrong with a model's last answer, if that is known.
    pub(crate) flaw: Option<AnswerFlaw>,
    /// The attempts at a model call that failed for good, if that is why.
    pub(crate) failed: Option<Failed>,
}

impl Stop {
    /// Creates a stop whose cause people read as it is.
    #[must_use]
    pub fn new(reason: StopReason, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        Self { reason, text: cause.clone(), cause, flaw: None, failed: None }
    }

    /// Creates the stop of a model call that failed for good: `error` is the last error, `cause` lists all of
    /// them.
    pub(crate) fn of_model(error: &ModelError, cause: String) -> Self {
        let (reason, flaw) = match error {
            ModelError::Empty { .. } => (StopReason::EmptyResponse, Some(AnswerFlaw::Empty)),
            ModelError::AtTokenLimit { .. } | ModelError::TooLong { .. } => {
                (StopReason::ModelFailed, Some(AnswerFlaw::CutOff))
            }
            _ => (StopReason::ModelFailed, None),
        };
        Self { text: error.for_people().to_owned(), flaw, ..Self::new(reason, cause) }
    }
}
