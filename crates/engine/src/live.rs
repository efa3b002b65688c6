//! The activations under way in this process, so that a person need not wait for a model to stop
//! talking. Losing track of one costs time and nothing else: its next commit is refused.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use entourage_types::{AgentId, Time};
use tokio_util::sync::CancellationToken;

use crate::watch::Pulse;

/// Agents that are being deleted, and by how many at once.
type Doomed = Arc<Mutex<HashMap<AgentId, u32>>>;
type Tokens = Arc<Mutex<HashMap<AgentId, Arc<CancellationToken>>>>;

/// The activations under way, by agent.
#[derive(Default)]
pub(crate) struct Live {
    tokens: Tokens,
    doomed: Doomed,
}

/// One activation under way, until dropped.
pub(crate) struct Entered {
    agent: AgentId,
    cut: Arc<CancellationToken>,
    pulse: Arc<Pulse>,
    tokens: Tokens,
}

impl Live {
    /// An activation of the agent begins; entered before the agent is claimed, so that whoever
    /// writes to it after that can cut it off. `stopping` cuts off all.
    pub(crate) fn enter(&self, agent: AgentId, stopping: &CancellationToken, now: Time) -> Entered {
        let cut = Arc::new(stopping.child_token());
        let mut tokens = locked(&self.tokens);
        tokens.insert(agent, Arc::clone(&cut));
        Entered { agent, cut, pulse: Arc::new(Pulse::new(now)), tokens: Arc::clone(&self.tokens) }
    }

    /// The agent is being deleted until what is returned is dropped: there is no use in letting it go
    /// on meanwhile.
    pub(crate) fn doom(&self, agent: AgentId) -> impl Drop + Send + use<> {
        *locked(&self.doomed).entry(agent).or_default() += 1;
        let doomed = Arc::clone(&self.doomed);
        Dooming { agent, doomed }
    }

    /// Whether somebody is deleting the agent.
    pub(crate) fn is_doomed(&self, agent: AgentId) -> bool {
        locked(&self.doomed).contains_key(&agent)
    }

    /// Whether an activation of the agent is under way.
    pub(crate) fn is_at_work(&self, agent: AgentId) -> bool {
        locked(&self.tokens).contains_key(&agent)
    }

    /// Cuts off what the agent is doing. What it has committed stands.
    pub(crate) fn cut(&self, agent: AgentId) {
        let tokens = locked(&self.tokens);
        if let Some(cut) = tokens.get(&agent) {
            cut.cancel();
        }
    }
}

/// An agent that is being deleted.
struct Dooming {
    agent: AgentId,
    doomed: Doomed,
}

impl Drop for Dooming {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = locked(&self.doomed).entry(self.agent) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Entered {
    /// The signs of life of this activation.
    pub(crate) fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// Cancelled when this activation shall end where it is.
    pub(crate) fn cut(&self) -> &CancellationToken {
        &self.cut
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut tokens = locked(&self.tokens);
        // A later activation may have taken the agent meanwhile.
        if tokens.get(&self.agent).is_some_and(|cut| Arc::ptr_eq(cut, &self.cut)) {
            tokens.remove(&self.agent);
        }
    }
}
