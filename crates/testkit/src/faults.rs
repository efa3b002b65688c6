//! Process deaths on demand: a store that fails at a chosen commit, before it or after it, or loses
//! the epoch to another worker. It is a layer for any store (`Layered` of the store crate).

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use entourage_store::{Claim, Commit, Committed, Error, Result, Store, StoreLayer, Write};
use entourage_types::AgentId;
use tokio::sync::Notify;

/// What happens at the chosen commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process dies before the commit, which is never applied.
    DieBefore,
    /// The process dies after the commit, which is applied without a caller learning of it.
    DieAfter,
    /// Another worker takes the agent over just before, or those that the commit wakes: a commit of
    /// the agent is refused.
    LoseEpoch,
    /// The commit never returns and is never applied.
    Hang,
    /// The connection is lost before the commit, which is never applied; the caller does not know
    /// that.
    UnknownBefore,
    /// The connection is lost after the commit, which is applied; the caller does not know that.
    UnknownAfter,
}

impl Fault {
    /// All faults after which the work continues: all but the commit that never returns.
    pub const ENDING: [Self; 5] =
        [Self::DieBefore, Self::DieAfter, Self::LoseEpoch, Self::UnknownBefore, Self::UnknownAfter];
}

/// The faults of one process, shared by its stores.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    commits: AtomicU64,
    dead: AtomicBool,
    died: Notify,
    taken_over: Mutex<Option<AgentId>>,
    taken: Notify,
    plan: Mutex<Option<(u64, Fault)>>,
    /// Claims and commits that have begun and have neither returned nor been dropped.
    under_way: AtomicU64,
    idle: Notify,
}

impl Faults {
    /// Plans a fault at the `at`th commit of the process, counted from 1: commits of agents, of people
    /// and of maintenance. Without a plan there is no fault.
    pub fn plan(&self, at: u64, fault: Fault) -> Self {
        *self.inner.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, fault));
        self.clone()
    }

    /// How many commits the process has begun.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.inner.commits.load(Ordering::SeqCst)
    }

    /// Whether the process has died.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.inner.dead.load(Ordering::SeqCst)
    }

    /// Returns the result of the work, or none if the process dies first: also if it dies late,
    /// through a commit that was still under way when the work completed. Whatever the process has
    /// begun by then has happened, or never will.
    pub async fn unless_dead<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let done = tokio::select! {
            biased;
            () = self.died() => None,
            done = work => Some(done),
        };
        self.settled().await;
        done.filter(|_| !self.is_dead())
    }

    /// Waits until another worker has taken an agent over, and returns the agent; that worker
    /// continues its work.
    pub async fn taken_over(&self) -> AgentId {
        loop {
            let taken = self.inner.taken.notified();
            let agent = self.inner.taken_over.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(agent) = agent {
                return agent;
            }
            taken.await;
        }
    }

    /// Ends the process immediately.
    pub fn kill(&self) {
        self.inner.dead.store(true, Ordering::SeqCst);
        self.inner.died.notify_waiters();
    }

    /// Returns once the process has died.
    pub(crate) async fn died(&self) {
        let notified = self.inner.died.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.is_dead() {
            notified.await;
        }
    }

    /// Returns once no claim or commit is under way.
    pub(crate) async fn settled(&self) {
        loop {
            let idle = self.inner.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if self.inner.under_way.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }

    fn die<T>(&self) -> Result<T> {
        self.kill();
        Err(Error::Closed)
    }
}

/// A commit under way.
struct UnderWay<'f>(&'f Faults);

impl<'f> UnderWay<'f> {
    fn new(faults: &'f Faults) -> Self {
        faults.inner.under_way.fetch_add(1, Ordering::SeqCst);
        Self(faults)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.0.inner.under_way.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.inner.idle.notify_waiters();
        }
    }
}

#[async_trait]
impl StoreLayer for Faults {
    async fn pass(&self) -> Result<()> {
        if self.is_dead() { Err(Error::Closed) } else { Ok(()) }
    }

    async fn claim(&self, store: &Arc<dyn Store>, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        let _under_way = UnderWay::new(self);
        // Verified again: a caller of `settled` may have seen nothing of this claim.
        self.pass().await?;
        store.claim(agent, from).await
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        let under_way = UnderWay::new(self);
        self.pass().await?;
        let number = self.inner.commits.fetch_add(1, Ordering::SeqCst) + 1;
        let plan = *self.inner.plan.lock().unwrap_or_else(PoisonError::into_inner);
        match plan.filter(|(at, _)| *at == number).map(|(_, fault)| fault) {
            None => store.commit(commit).await,
            Some(Fault::Hang) => {
                drop(under_way);
                std::future::pending().await
            }
            Some(Fault::DieBefore) => self.die(),
            Some(Fault::UnknownBefore) => Err(Error::Unknown { commit: commit.id }),
            Some(Fault::UnknownAfter) => {
                let id = commit.id;
                // Whether refused or not, the caller does not learn the result. The store knows it when the commit
                // is repeated.
                let _ = store.commit(commit).await;
                Err(Error::Unknown { commit: id })
            }
            Some(Fault::DieAfter) => {
                // Whether refused or not, the caller does not learn the result.
                let _ = store.commit(commit).await;
                self.die()
            }
            Some(Fault::LoseEpoch) => {
                let woken = commit.writes.iter().filter_map(|write| match write {
                    Write::ScheduleWakeup(wakeup) => Some(wakeup.agent),
                    _ => None,
                });
                let taken = commit.fence.map_or_else(|| woken.collect(), |fence| vec![fence.agent]);
                for agent in &taken {
                    store.claim(*agent, u64::MAX).await?;
                }
                let done = store.commit(commit).await;
                *self.inner.taken_over.lock().unwrap_or_else(PoisonError::into_inner) =
                    taken.first().copied();
                self.inner.taken.notify_one();
                done
            }
        }
    }
}
