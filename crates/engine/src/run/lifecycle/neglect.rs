//! The end of a run that made no progress for too long, in one commit: its tasks end with it, those that wait for them
//! are answered, and the work that it waits for is dropped.

use entourage_store::Error as StoreError;
use entourage_types::{Action, Failed, Status, StopReason, TaskResult};

use crate::run::{Run, lifecycle::close::Ending};

/// What a run is ended for that made no progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Neglect {
    /// Nothing of its agent changed for too long. Nobody learns a result that it did not have.
    Stale {
        /// What happened, for people.
        text: String,
    },
    /// It was paused for too long before another attempt at its model call: its tasks are cancelled.
    Expired {
        /// What happened, for people.
        text: String,
        /// The same with the last error, for logs and programs.
        cause: String,
        /// The attempts that were made.
        failed: Failed,
    },
}

impl From<Neglect> for Ending {
    fn from(neglect: Neglect) -> Self {
        match neglect {
            Neglect::Stale { text } => Self {
                status: Status::Succeeded,
                tasks: Status::Succeeded,
                reason: StopReason::Stale,
                result: TaskResult::Text(format!("It ended without a result: {text}")),
                cause: Some(text),
                failed: None,
            },
            Neglect::Expired { text, cause, failed } => Self {
                status: Status::Failed,
                tasks: Status::Cancelled,
                reason: StopReason::Cancelled,
                result: TaskResult::Error(text),
                cause: Some(cause),
                failed: Some(failed),
            },
        }
    }
}

impl Run<'_> {
    /// Ends the run of an agent that nobody is to wait for any longer.
    pub(crate) async fn close_neglected(&mut self, neglect: Neglect) -> Result<(), StoreError> {
        let awaited = self.tasks_of_calls(false).await?;
        let dropped = awaited.into_iter().map(|task| (task, Action::Stop)).collect();
        self.end_with(neglect.into(), dropped).await
    }
}
