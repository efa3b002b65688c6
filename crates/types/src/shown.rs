//! A status as it is shown, which tells apart what failed and what a person stopped.

use serde::{Deserialize, Deserializer};

use crate::{Status, StopReason, status::words};

words! {
    /// Where an agent or a run stands, as it is shown: its [`Status`], or `stopped` where it failed because
    /// a person stopped it, or the agent that it worked for.
    ShownStatus, "status" {
        /// An agent that has not run yet.
        Idle => "idle",
        /// Something to do, not begun.
        Queued => "queued",
        /// At work; also while its tools are.
        Running => "running",
        /// Asleep on disk until something named by a [`WaitingOn`](crate::WaitingOn) happens.
        Waiting => "waiting",
        /// Ended with its answer.
        Succeeded => "succeeded",
        /// Ended with an error.
        Failed => "failed",
        /// Stopped before its answer; it can be written to again.
        Stopped => "stopped",
        /// Ended for good.
        Cancelled => "cancelled",
    }
}

impl ShownStatus {
    /// What is shown of this status, where the last run ended for this reason.
    #[must_use]
    pub const fn of(status: Status, why: Option<StopReason>) -> Self {
        match (status, why) {
            (Status::Idle, _) => Self::Idle,
            (Status::Queued, _) => Self::Queued,
            (Status::Running, _) => Self::Running,
            (Status::Waiting, _) => Self::Waiting,
            (Status::Succeeded, _) => Self::Succeeded,
            (Status::Failed, Some(StopReason::Cancelled)) => Self::Stopped,
            (Status::Failed, _) => Self::Failed,
            (Status::Cancelled, _) => Self::Cancelled,
        }
    }

    /// The status that is stored.
    #[must_use]
    pub const fn status(self) -> Status {
        match self {
            Self::Idle => Status::Idle,
            Self::Queued => Status::Queued,
            Self::Running => Status::Running,
            Self::Waiting => Status::Waiting,
            Self::Succeeded => Status::Succeeded,
            Self::Failed | Self::Stopped => Status::Failed,
            Self::Cancelled => Status::Cancelled,
        }
    }
}

/// Reads a status as it is stored or shown; the stop reason beside it says the rest.
pub(crate) fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Status, D::Error> {
    ShownStatus::deserialize(from).map(ShownStatus::status)
}
