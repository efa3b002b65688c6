//! The agent that a text on the command line is addressed to.

use entourage_types::AgentId;

use crate::cli::{backend::Result, failure::Failure, globals::Globals};

/// The tree and the agent that a text goes to, if the user named that agent: one that works for another takes no
/// messages of a user, and the other one is not meant.
pub(super) fn checked(
    (root, agent): (AgentId, AgentId),
    named: AgentId,
    globals: &Globals,
) -> Result<(AgentId, AgentId)> {
    if agent == named {
        return Ok((root, agent));
    }
    let again = globals.again();
    Err(Failure::usage(format!(
        "agent {named} works for agent {root}, which alone is talked to: `entourage run --resume {root}{again}` with this \
         text; to tell agent {named} something: `entourage steer {named}{again}`"
    )))
}
