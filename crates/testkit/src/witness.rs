//! Records what happened: every claim, every commit that the store accepted, every effect of a tool
//! and every acknowledged deletion, in their order. An audit compares the record with the store.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use entourage_store::{Claim, Commit, Committed, Error, Result, Store, StoreLayer};
use entourage_tools::Effect;
use entourage_types::{AgentId, CallId, CommitId, Epoch, Owner, Scope};
use tokio::sync::{OwnedMutexGuard, watch};

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Fact {
    /// An activation claimed an agent.
    Claimed {
        /// The agent.
        agent: AgentId,
        /// The epoch it was given.
        epoch: Epoch,
    },
    /// The store accepted a commit.
    Committed(Arc<Commit>),
    /// A tool was about to have its effect.
    Effect {
        /// The agent whose call it is.
        agent: AgentId,
        /// The call.
        call: CallId,
        /// Its effect class.
        effect: Effect,
    },
    /// An engine confirmed to a person that an agent is deleted.
    Deleted(AgentId),
    /// A read on behalf of one owner showed a row of another.
    Shown {
        /// The owner on whose behalf the read happened.
        to: Owner,
        /// The owner of the row.
        of: Owner,
    },
}

/// The record of what happened. Clones are the same witness.
#[derive(Debug, Clone)]
pub struct Witness {
    facts: Arc<Mutex<Vec<Fact>>>,
    /// The commits among them.
    committed: Arc<Mutex<HashSet<CommitId>>>,
    /// Held during a store call, so that facts are in the order in which they happened.
    order: Arc<tokio::sync::Mutex<()>>,
    news: watch::Sender<usize>,
}

impl Default for Witness {
    fn default() -> Self {
        let news = watch::Sender::new(0);
        Self { facts: Arc::default(), committed: Arc::default(), order: Arc::default(), news }
    }
}

impl Witness {
    /// What happened so far, in order.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        self.lock().clone()
    }

    /// Records a fact that the store does not show. A tool of your own records a [`Fact::Effect`]
    /// immediately before its effect.
    pub fn record(&self, fact: Fact) {
        let mut facts = self.lock();
        facts.push(fact);
        let count = facts.len();
        drop(facts);
        self.news.send_replace(count);
    }

    /// Subscribes to the number of facts.
    pub(crate) fn news(&self) -> watch::Receiver<usize> {
        self.news.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Fact>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until every call of the store is recorded here, and blocks further calls until the
    /// guard is dropped. Without it a reader of the store may see a commit that is not yet among
    /// the facts.
    pub(crate) async fn still(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.order).lock_owned().await
    }

    /// Calls the store and records the result, even if the caller is dropped meanwhile: a store
    /// completes what it has begun.
    async fn ask<T: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<T>> + Send + 'static,
        fact: impl FnOnce(&T) -> Option<Fact> + Send + 'static,
    ) -> Result<T> {
        // Acquired before the task is spawned, so that a later call follows this call's commit.
        let in_order = self.still().await;
        let own = self.clone();
        let asked = tokio::spawn(async move {
            let answer = answer.await;
            answer.as_ref().ok().and_then(fact).into_iter().for_each(|fact| own.record(fact));
            drop(in_order);
            answer
        });
        asked.await.unwrap_or(Err(Error::Closed))
    }
}

#[async_trait]
impl StoreLayer for Witness {
    fn shown(&self, scope: &Scope, owner: &Owner) {
        if let Some(to) = scope.owner().filter(|to| *to != owner) {
            self.record(Fact::Shown { to: to.clone(), of: owner.clone() });
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
        let (kept, committed) = (Arc::new(commit.clone()), Arc::clone(&self.committed));
        // One that is repeated happened once.
        let is_new = move |id| committed.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        self.ask(async move { store.commit(commit).await }, move |_| {
            is_new(kept.id).then_some(Fact::Committed(kept))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use entourage_store::{Layered, MemoryStore, Write};
    use entourage_types::{
        Action, Agent, Author, Intervention, InterventionId, InterventionStatus, Post, PostBody, PostId,
        Time, WakeupId,
    };
    use futures::poll;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::audit;

    /// A store whose commits are visible before their authors get the result, once a test makes it
    /// slow.
    #[derive(Clone, Default)]
    struct SlowStore {
        is_slow: Arc<AtomicBool>,
        gates: Arc<Gates>,
    }

    struct Gates {
        written: Semaphore,
        answered: Semaphore,
    }

    impl Default for Gates {
        fn default() -> Self {
            Self { written: Semaphore::new(0), answered: Semaphore::new(0) }
        }
    }

    #[async_trait]
    impl StoreLayer for SlowStore {
        async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
            let committed = store.commit(commit).await;
            if self.is_slow.load(Ordering::SeqCst) {
                self.gates.written.add_permits(1);
                let _ = self.gates.answered.acquire().await;
            }
            committed
        }
    }

    /// An agent's stop as a person requests it.
    fn stop(agent: &Agent, at: Time) -> (Intervention, Post) {
        let (action, of) = (Action::Stop, None);
        let intervention = Intervention {
            id: InterventionId::new(),
            owner: agent.owner.clone(),
            root: agent.root,
            agent: agent.id,
            by: Author::User,
            action,
            text: None,
            of,
            status: InterventionStatus::Pending,
            created: at,
            updated: at,
        };
        let body = PostBody::Intervention { id: intervention.id, action, text: None, of };
        (intervention, Post { id: PostId::new(), agent: agent.id, at, wakeup: WakeupId::new(), body })
    }

    #[tokio::test]
    async fn an_audit_waits_for_the_record_of_a_commit_that_is_already_visible() {
        let (slow, witness, at) = (SlowStore::default(), Witness::default(), Time::from_micros(1));
        let below: Arc<dyn Store> = Arc::new(Layered::new(Arc::new(MemoryStore::default()), slow.clone()));
        let store: Arc<dyn Store> = Arc::new(Layered::new(below, witness.clone()));
        let agent = Agent::root(Owner::local(), "helper", "", at);
        store.commit(Commit::new(at).write(Write::NewAgent(agent.clone()))).await.unwrap();
        let (pending, post) = stop(&agent, at);
        let mut posted = Commit::new(at).write(Write::record(&pending).unwrap());
        posted.post(post.clone(), &agent.owner);
        store.commit(posted).await.unwrap();
        let agent = store.claim(agent.id, 0).await.unwrap().unwrap().agent;

        slow.is_slow.store(true, Ordering::SeqCst);
        let applied = Intervention { status: InterventionStatus::Applied, ..pending };
        let read = Commit::fenced(&agent, at)
            .write(Write::ConsumePost(post.id))
            .write(Write::record(&applied).unwrap())
            .write(Write::ConsumeWakeup(post.wakeup));
        let reading = tokio::spawn({
            let store = Arc::clone(&store);
            async move { store.commit(read).await }
        });
        slow.gates.written.acquire().await.unwrap().forget();
        assert_eq!(store.inbox(agent.id).await.unwrap(), [], "the store shows that it was read");
        let mut audited = Box::pin(audit(&*store, Some(&witness)));
        assert!(poll!(&mut audited).is_pending());
        slow.gates.answered.add_permits(1);
        assert_eq!(audited.await.unwrap(), []);
        reading.await.unwrap().unwrap();
    }
}
