//! Who saw what happened: every claim, every commit that the store took, every effect of a tool and
//! every acknowledged deletion, in their order. An audit compares it with what is kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use entourage_store::{Claim, Commit, Committed, Error, Result, Store};
use entourage_tools::Effect;
use entourage_types::{AgentId, CallId, Owner, Scope};
use tokio::sync::watch;

use crate::Between;

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Fact {
    /// An activation took an agent.
    Claimed {
        /// Which.
        agent: AgentId,
        /// The epoch it was given.
        epoch: u64,
    },
    /// The store took a commit.
    Committed(Arc<Commit>),
    /// A tool was about to have its effect.
    Effect {
        /// Whose call.
        agent: AgentId,
        /// Which call.
        call: CallId,
        /// Of what class.
        effect: Effect,
    },
    /// A person was told that an agent is deleted.
    Deleted(AgentId),
    /// A read on behalf of one owner showed a row of another.
    Shown {
        /// On whose behalf.
        to: Owner,
        /// Whose row.
        of: Owner,
    },
}

/// Who saw what happened. Clones are the same witness.
#[derive(Debug, Clone)]
pub struct Witness {
    facts: Arc<Mutex<Vec<Fact>>>,
    /// Held while the store is asked, so that facts stand in the order in which they happened.
    order: Arc<tokio::sync::Mutex<()>>,
    news: watch::Sender<usize>,
}

impl Default for Witness {
    fn default() -> Self {
        Self { facts: Arc::default(), order: Arc::default(), news: watch::Sender::new(0) }
    }
}

impl Witness {
    /// What happened so far, in order.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        self.lock().clone()
    }

    /// Takes down that something happened.
    pub fn saw(&self, fact: Fact) {
        let mut facts = self.lock();
        facts.push(fact);
        let count = facts.len();
        drop(facts);
        self.news.send_replace(count);
    }

    /// Follows how many things happened.
    #[must_use]
    pub fn news(&self) -> watch::Receiver<usize> {
        self.news.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Fact>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the store and takes down what came of it, also when who wanted to know is gone by then:
    /// a store finishes what it has begun.
    async fn ask<T: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<T>> + Send + 'static,
        fact: impl FnOnce(&T) -> Option<Fact> + Send + 'static,
    ) -> Result<T> {
        let own = self.clone();
        let asked = tokio::spawn(async move {
            let _in_order = own.order.lock().await;
            let answer = answer.await?;
            fact(&answer).into_iter().for_each(|fact| own.saw(fact));
            Ok(answer)
        });
        asked.await.unwrap_or(Err(Error::Closed))
    }
}

#[async_trait]
impl Between for Witness {
    fn shown(&self, scope: &Scope, owner: &Owner) {
        if let Some(to) = scope.owner().filter(|to| *to != owner) {
            self.saw(Fact::Shown { to: to.clone(), of: owner.clone() });
        }
    }

    async fn claim(&self, store: &Arc<dyn Store>, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        let store = Arc::clone(store);
        self.ask(async move { store.claim(agent, from).await }, move |claim| {
            Some(Fact::Claimed { agent, epoch: claim.as_ref()?.agent.epoch })
        })
        .await
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        let store = Arc::clone(store);
        let kept = Arc::new(commit.clone());
        self.ask(async move { store.commit(commit).await }, move |_| Some(Fact::Committed(kept))).await
    }
}
