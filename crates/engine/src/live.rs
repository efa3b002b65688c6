//! The activations under way in this process, so that a person need not wait for a model to stop
//! talking. Losing track of one costs time and nothing else: its next commit is refused.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use entourage_types::AgentId;
use tokio_util::sync::CancellationToken;

type Tokens = Arc<Mutex<HashMap<AgentId, Arc<CancellationToken>>>>;

/// The activations under way, by agent.
#[derive(Default)]
pub(crate) struct Live {
    tokens: Tokens,
}

/// One activation under way, until dropped.
pub(crate) struct Entered {
    agent: AgentId,
    cut: Arc<CancellationToken>,
    tokens: Tokens,
}

impl Live {
    /// An activation of the agent begins; entered before the agent is claimed, so that whoever
    /// writes to it after that can cut it off. `stopping` cuts off all.
    pub(crate) fn enter(&self, agent: AgentId, stopping: &CancellationToken) -> Entered {
        let cut = Arc::new(stopping.child_token());
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.insert(agent, Arc::clone(&cut));
        Entered { agent, cut, tokens: Arc::clone(&self.tokens) }
    }

    /// Cuts off what the agent is doing. What it has committed stands.
    pub(crate) fn cut(&self, agent: AgentId) {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cut) = tokens.get(&agent) {
            cut.cancel();
        }
    }
}

impl Entered {
    /// Cancelled when this activation shall end where it is.
    pub(crate) fn cut(&self) -> &CancellationToken {
        &self.cut
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        // A later activation may have taken the agent meanwhile.
        if tokens.get(&self.agent).is_some_and(|cut| Arc::ptr_eq(cut, &self.cut)) {
            tokens.remove(&self.agent);
        }
    }
}
