//! What is asked of a node, and which errors may come of it. Any other error is a fault of the engine.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use entourage_engine::{Error, StoreError};
use entourage_types::Action;

use entourage_testkit::Faults;

/// What is asked of a node.
#[derive(Debug, Clone, Copy)]
pub(super) enum Request {
    Read,
    Create,
    Send,
    Answer,
    Grant,
    TakeBack,
    Intervene(Action),
    Forget,
    Remind,
    Follow,
    Advance,
    RunJob,
    Reload,
}

impl Request {
    /// Whether a node that is alive may refuse the request with this error.
    fn may_fail_with(self, error: &Error) -> bool {
        match self {
            Self::Read | Self::Create | Self::Grant | Self::Follow | Self::RunJob | Self::Reload => false,
            // An agent that it woke has reserved it.
            Self::TakeBack => matches!(error, Error::Invalid(_)),
            // The agent may have been forgotten meanwhile.
            Self::Send => matches!(error, Error::Gone(_) | Error::AtWork(_) | Error::NotFound { .. }),
            // The same, or its schedule went with it, or has fired for the last time.
            Self::Remind => matches!(error, Error::Gone(_) | Error::NotFound { .. } | Error::NotNow { .. }),
            // It is at work again.
            Self::Forget => matches!(error, Error::NotNow { .. }),
            // Somebody else was faster, or nobody answered in time.
            Self::Answer => matches!(error, Error::NotOpen { .. }),
            Self::Intervene(Action::Comment) => false,
            Self::Intervene(Action::Resume | Action::Retry | Action::CloseSession) => {
                matches!(error, Error::Gone(_) | Error::NotNow { .. })
            }
            Self::Intervene(_) => matches!(error, Error::Gone(_)),
            // The wake-up stays, and is delivered again: after a pause, after a commit of unknown outcome, and
            // after an activation that was silent for too long, since the clock jumps meanwhile.
            Self::Advance => matches!(
                error,
                Error::NotYet { .. }
                    | Error::LeftOpen { .. }
                    | Error::Stuck { .. }
                    | Error::Store(StoreError::Unknown { .. })
            ),
        }
    }
}

/// What came of a request.
pub(super) enum Answered<T> {
    Done(T),
    /// The node refused it, as it may, or must not.
    Refused,
    /// The node died meanwhile.
    Never,
}

impl<T> Answered<T> {
    pub(super) fn done(self) -> Option<T> {
        match self {
            Self::Done(done) => Some(done),
            Self::Refused | Self::Never => None,
        }
    }
}

/// The errors of all nodes that nobody may get, in their order. Clones are the same list.
#[derive(Clone, Default)]
pub(super) struct Unexpected(Arc<Mutex<Vec<String>>>);

impl Unexpected {
    pub(super) fn add(&self, what: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Checks what comes of the requests to one node.
#[derive(Clone)]
pub(super) struct Check {
    pub(super) faults: Faults,
    pub(super) unexpected: Unexpected,
}

impl Check {
    /// What came of a request; records an error that nobody may get. The store is closed only to the dead.
    pub(super) fn came_of<T>(&self, request: Request, done: Result<T, Error>) -> Answered<T> {
        match done {
            Ok(done) => Answered::Done(done),
            Err(Error::Store(StoreError::Closed)) if self.faults.is_dead() => Answered::Never,
            Err(error) => {
                if !request.may_fail_with(&error) {
                    self.failed(request, &error);
                }
                Answered::Refused
            }
        }
    }

    /// Records what went wrong with a request.
    pub(super) fn failed(&self, request: Request, error: &dyn fmt::Display) {
        self.unexpected.add(format!("{request:?} failed: {error}"));
    }
}
