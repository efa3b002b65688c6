//! What of a tree does not go on, although no question is open in it.

use std::time::Duration;

use entourage_api::Cause;
use entourage_types::AgentId;

use super::{
    super::{
        backend::{Backend, Result},
        out,
        progress::Progress,
        tree::LOOKED_AT,
    },
    Session,
};

/// How often the session checks, while a user waits, whether a process works for the agent.
pub(super) const SILENCE: Duration = Duration::from_secs(5);

impl Session {
    /// Says so if no process works for the agent: until one starts, it cannot go on. Returns whether it did. This is a
    /// hint: errors are ignored.
    pub(super) async fn says_that_no_process_works(&mut self) -> bool {
        // Whoever is asked, and whoever has nothing to wait for, need not be told.
        if !self.is_caught_up || self.rested || self.asking.is_some() {
            return false;
        }
        let is_left = tokio::select! {
            why = self.backend.why(self.agent) => why.is_ok_and(|why| matches!(why.cause, Cause::Process)),
            () = self.interrupt.cancelled() => false,
        };
        if is_left {
            self.view.clear();
            out::note(
                "no process works for agents: this goes on once one does; start it with `entourage serve`",
            );
        }
        is_left
    }
}

/// Finds out which agents a budget no longer keeps waiting: a grant is no event.
pub(super) async fn look_for_room(backend: &Backend, progress: &mut Progress) -> Result<()> {
    let short: Vec<AgentId> = progress.over_budget().take(LOOKED_AT).map(|(agent, _)| agent).collect();
    for agent in short {
        let waits = |cause: &Cause| matches!(cause, Cause::Budget { .. });
        if !backend.why(agent).await?.chain.first().is_some_and(|link| waits(&link.cause)) {
            progress.has_room(agent);
        }
    }
    Ok(())
}
