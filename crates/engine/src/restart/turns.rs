//! The turns in which runs are resumed one at a time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use entourage_types::AgentId;
use tokio::sync::Notify;

use super::{Restarts, locked};
use crate::{Engine, Tick, activations::ActivationGuard};

/// How long a turn lasts at most. A run that takes longer, such as with a slow model, must not hold up all
/// others.
const TURN: Duration = Duration::from_secs(5);

/// The turns of runs that are resumed alone.
#[derive(Default)]
pub(super) struct Turns {
    /// Whose turn it is, and until when.
    whose: Mutex<Option<(AgentId, Tick)>>,
    over: Notify,
}

impl Turns {
    /// Takes the turn and returns nothing, or returns when the turn of another agent ends.
    fn take(&self, agent: AgentId, now: Tick) -> Option<Tick> {
        let mut whose = locked(&self.whose);
        let until = whose.map(|(_, until)| until).filter(|until| *until > now);
        if until.is_none() {
            *whose = Some((agent, now + TURN));
        }
        until
    }
}

/// The turn of a run that is resumed alone. It is over when this is dropped, and after `TURN` at the latest.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    agent: AgentId,
}

impl Drop for Turn {
    fn drop(&mut self) {
        locked(&self.turns.whose).take_if(|(agent, _)| *agent == self.agent);
        self.turns.over.notify_waiters();
    }
}

/// Held by a run that is resumed alone, until its first commit; none of any other run.
pub(crate) type ExclusiveTurn = Option<Turn>;

impl Engine {
    /// Waits until no other run is resumed alone, and returns the turn. None if the run has to come again.
    pub(super) async fn wait_for_turn(&self, agent: AgentId, entered: &ActivationGuard) -> ExclusiveTurn {
        let Restarts { turns, waiting, .. } = &self.inner.restarts;
        let _waiting = waiting.try_acquire().ok()?;
        loop {
            let over = turns.over.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            let Some(until) = turns.take(agent, self.clock().tick()) else {
                return Some(Turn { turns: Arc::clone(turns), agent });
            };
            tokio::select! {
                biased;
                () = entered.cancel_token().cancelled() => return None,
                () = over => {}
                () = self.clock().sleep(until.since(self.clock().tick())) => {}
            }
        }
    }
}
