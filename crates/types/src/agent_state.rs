//! An agent's state as the tree of explorations shows it: six words for all that an agent can be.

use crate::{Agent, Status, WaitingOn, status::words};

words! {
    /// The state of an agent in the tree that people hold in their hands (S3, key feature 4).
    AgentState, "state of an agent" {
        /// It is at work, or about to be; also while its tools or its children work, and while a retry is due (S3-R058).
        Running => "running",
        /// It ended well (S3-R059).
        Completed => "completed",
        /// A person deleted it (S3-R060).
        Deleted => "deleted",
        /// A person changed what it works on; it is running again at once (S3-R061).
        Modified => "modified",
        /// Something went wrong and ended its work (S3-R062).
        Error => "error",
        /// A question of it to the person is open (S3-R063).
        AwaitingUser => "awaiting_user",
    }
}

/// Whether an agent's inbox has something that it has not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// Nothing.
    Nothing,
    /// At least one post.
    Something,
}

impl AgentState {
    /// The state of an agent in this status. No other word is ever shown (S3-R064).
    #[must_use]
    pub const fn of(status: Status, waiting_on: Option<WaitingOn>, unread: Unread) -> Self {
        match (status, waiting_on, unread) {
            (Status::Cancelled, ..) => Self::Deleted,
            (Status::Waiting, Some(WaitingOn::User), _) => Self::AwaitingUser,
            (Status::Queued | Status::Running | Status::Waiting, ..) | (_, _, Unread::Something) => {
                Self::Running
            }
            (Status::Idle | Status::Succeeded, ..) => Self::Completed,
            (Status::Failed, ..) => Self::Error,
        }
    }

    /// Whether an agent in this state belongs to the tree of active agents (S3-R081, S3-R092).
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Modified | Self::AwaitingUser)
    }
}

impl Agent {
    /// Its state, given what its inbox has.
    #[must_use]
    pub const fn state(&self, unread: Unread) -> AgentState {
        AgentState::of(self.status, self.waiting_on, unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows: S3-R058, S3-R059, S3-R060, S3-R062, S3-R063, S3-R064.
    #[test]
    fn whatever_an_agent_is_is_one_of_six_states() {
        use AgentState::{AwaitingUser, Completed, Deleted, Error, Running};
        let waits = [WaitingOn::Agent, WaitingOn::Timer, WaitingOn::Retry, WaitingOn::Resume];
        let mut table = vec![
            (Status::Idle, None, [Completed, Running]),
            (Status::Queued, None, [Running, Running]),
            (Status::Running, None, [Running, Running]),
            (Status::Waiting, Some(WaitingOn::User), [AwaitingUser, AwaitingUser]),
            (Status::Succeeded, None, [Completed, Running]),
            (Status::Failed, None, [Error, Running]),
            (Status::Cancelled, None, [Deleted, Deleted]),
        ];
        table.extend(waits.map(|on| (Status::Waiting, Some(on), [Running, Running])));
        for (status, waiting_on, states) in table {
            let shown =
                [Unread::Nothing, Unread::Something].map(|unread| AgentState::of(status, waiting_on, unread));
            assert_eq!(shown, states, "{status} {waiting_on:?}");
        }
    }
}
