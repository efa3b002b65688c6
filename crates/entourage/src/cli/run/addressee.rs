//! Whom a text is for.

use entourage_types::AgentId;

use crate::cli::failure::Failure;

/// A text for an agent that works for another one: it takes no messages of a user, and the other one is not meant.
pub(super) fn other(named: AgentId, root: AgentId, again: &str) -> Failure {
    Failure::usage(format!(
        "agent {named} works for agent {root}, which alone is talked to: `entourage run --resume {root}{again}` with this \
         text; to tell agent {named} something: `entourage steer {named}{again}`"
    ))
}
