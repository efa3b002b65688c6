//! A status as users see it, which distinguishes failed work from work that was stopped.

use crate::{Status, StopReason, status::words};

words! {
    /// The status of an agent or a run as users see it: its [`Status`], or `stopped` if it failed
    /// because a person stopped it or the agent that it worked for.
    ShownStatus, "status" {
        /// An agent that has not run yet.
        Idle => "idle",
        /// It has something to do and has not begun.
        Queued => "queued",
        /// It works, or its tools do.
        Running => "running",
        /// It sleeps on disk until something named by a [`WaitingOn`](crate::WaitingOn) happens.
        Waiting => "waiting",
        /// It ended with its answer.
        Succeeded => "succeeded",
        /// It ended with an error.
        Failed => "failed",
        /// It was stopped before its answer; it accepts new messages.
        Stopped => "stopped",
        /// It ended for good.
        Cancelled => "cancelled",
    }
}

impl ShownStatus {
    /// All statuses, in the order of [`WORDS`](Self::WORDS).
    pub const ALL: [Self; 8] = [
        Self::Idle,
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Succeeded,
        Self::Failed,
        Self::Stopped,
        Self::Cancelled,
    ];

    /// Its place among [all](Self::ALL).
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns what users see for this status if the last run ended for this reason.
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

    /// Whether nothing further happens without a new message.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        self.status().is_terminal()
    }

    /// Returns the status as stored.
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
