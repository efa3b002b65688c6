//! Bugs of a node among others: in what it tells them, and in what it takes from the store that they share.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Clock, NodeSignal, Signals};
use entourage_store::{Claim, Commit, Committed, Result, Store, StoreLayer, Write};
use entourage_types::{AgentId, NodeId, Post, Wakeup};

use super::Bug;

/// A node with a bug, which shows only between nodes. Clones are the same node.
#[derive(Clone)]
pub(crate) struct PlantedAtNode {
    bug: Bug,
    clock: Arc<dyn Clock>,
    inboxes: Arc<Mutex<BTreeMap<AgentId, Vec<Post>>>>,
}

/// Its connection to the others.
struct PlantedSignals {
    bug: Bug,
    inner: Arc<dyn Signals>,
}

impl PlantedAtNode {
    /// Plants a bug in the node with this clock.
    #[must_use]
    pub(crate) fn new(bug: Bug, clock: Arc<dyn Clock>) -> Self {
        Self { bug, clock, inboxes: Arc::default() }
    }

    /// Plants it between the node and the others.
    #[must_use]
    pub(crate) fn between(&self, inner: Arc<dyn Signals>) -> Arc<dyn Signals> {
        Arc::new(PlantedSignals { bug: self.bug, inner })
    }

    fn inboxes(&self) -> MutexGuard<'_, BTreeMap<AgentId, Vec<Post>>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the wake-up is due by the store's clock and not by that of the node.
    fn is_not_due_here(&self, wakeup: &Wakeup, claim: &Claim) -> bool {
        claim.now.is_some_and(|now| wakeup.due <= now) && self.clock.now() < wakeup.due
    }
}

#[async_trait]
impl StoreLayer for PlantedAtNode {
    async fn claim(&self, store: &Arc<dyn Store>, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        let Some(mut claim) = store.claim(agent, from).await? else { return Ok(None) };
        match self.bug {
            Bug::StoreTimeMissing => claim.now = None,
            Bug::WakeupDropped => {
                let dropped = claim.wakeups.iter().filter(|wakeup| self.is_not_due_here(wakeup, &claim));
                let dropped: Vec<Write> = dropped.map(|wakeup| Write::ConsumeWakeup(wakeup.id)).collect();
                if !dropped.is_empty() {
                    let mut commit = Commit::fenced(&claim.agent, claim.agent.updated);
                    commit.writes = dropped;
                    store.commit(commit).await?;
                    return Ok(None);
                }
            }
            Bug::InboxKept => {
                let mut inboxes = self.inboxes();
                let kept = inboxes.entry(agent).or_default();
                let new = claim.inbox.iter().filter(|post| kept.iter().all(|other| other.id != post.id));
                kept.extend(new.cloned().collect::<Vec<_>>());
                claim.inbox.clone_from(kept);
            }
            _ => {}
        }
        Ok(Some(claim))
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        let read = |write: &Write| if let Write::ConsumePost(post) = write { Some(*post) } else { None };
        let read: Vec<_> = commit.writes.iter().filter_map(read).collect();
        let committed = store.commit(commit).await?;
        self.inboxes().values_mut().for_each(|kept| kept.retain(|post| !read.contains(&post.id)));
        Ok(committed)
    }
}

#[async_trait]
impl Signals for PlantedSignals {
    fn broadcast(&self, news: NodeSignal) {
        self.inner.broadcast(news);
    }

    fn hears(&self, node: NodeId) -> bool {
        self.inner.hears(node)
    }

    fn is_followed(&self, root: AgentId) -> bool {
        self.inner.is_followed(root)
    }

    fn follow(&self, root: AgentId) {
        self.inner.follow(root);
    }

    fn unfollow(&self, root: AgentId) {
        self.inner.unfollow(root);
    }

    async fn evict(&self, agent: AgentId) {
        match self.bug {
            Bug::EvictLost => {}
            Bug::EvictTooEarly => {
                let inner = Arc::clone(&self.inner);
                tokio::spawn(async move { inner.evict(agent).await });
            }
            _ => self.inner.evict(agent).await,
        }
    }

    fn holds_lease(&self) -> bool {
        self.bug == Bug::LeaseIgnored || self.inner.holds_lease()
    }

    fn poll_interval(&self) -> Option<Duration> {
        self.inner.poll_interval().filter(|_| self.bug != Bug::NewsNotMissed)
    }
}
