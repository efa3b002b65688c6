//! What agents do in these tests: they serve their wake-ups, at once or when the test lets them.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{
    Result,
    dispatch::{Advance, Due},
};
use entourage_store::{Commit, Store, Write};
use entourage_types::{Agent, AgentId, Owner, Time, Wakeup};
use tokio::sync::watch;

/// How long a test waits for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The agents of one node.
pub(crate) struct Worker {
    store: Arc<dyn Store>,
    /// What agents do now.
    does: watch::Sender<Does>,
    /// The agents at work.
    pub working: watch::Sender<HashSet<AgentId>>,
    /// The agents that were served.
    pub served: watch::Sender<HashSet<AgentId>>,
    pub given_up: Mutex<Vec<AgentId>>,
}

/// What agents do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// They serve their wake-ups.
    Serve,
    /// They wait for the test.
    Hold,
    /// They stop where they are, as those of a node that ends.
    Leave,
}

/// An agent at work, until dropped.
struct AtWork<'w>(&'w Worker, AgentId);

impl<'w> AtWork<'w> {
    fn new(worker: &'w Worker, agent: AgentId) -> Self {
        worker.working.send_modify(|working| {
            working.insert(agent);
        });
        Self(worker, agent)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.working.send_modify(|working| {
            working.remove(&self.1);
        });
    }
}

impl Worker {
    pub(crate) fn new(store: Arc<dyn Store>) -> Arc<Self> {
        let (working, served) = (watch::Sender::default(), watch::Sender::default());
        Arc::new(Self {
            store,
            does: watch::Sender::new(Does::Serve),
            working,
            served,
            given_up: Mutex::default(),
        })
    }

    /// Says what agents do from now on.
    pub(crate) fn has_them(&self, does: Does) {
        self.does.send_replace(does);
    }
}

/// Waits until it holds of what is watched.
pub(crate) async fn until<T>(watched: &watch::Sender<T>, what: &str, holds: impl Fn(&T) -> bool) {
    let mut watched = watched.subscribe();
    let held = tokio::time::timeout(PATIENCE, watched.wait_for(|value| holds(value))).await;
    assert!(held.is_ok(), "it never happened: {what}");
}

#[async_trait]
impl Advance for Worker {
    fn woken(&self, _: AgentId) {}

    async fn advance(&self, agent: AgentId, due: Due) -> Result<()> {
        let _at_work = AtWork::new(self, agent);
        let mut does = self.does.subscribe();
        if *does.wait_for(|does| *does != Does::Hold).await.unwrap() == Does::Leave {
            return Ok(());
        }
        let Some(claim) = self.store.claim(agent, 0).await? else { return Ok(()) };
        let mut commit = Commit::fenced(&claim.agent, due.by);
        let served = claim.wakeups.iter().filter(|wakeup| wakeup.due <= due.by);
        commit.writes = served.map(|wakeup| Write::ConsumeWakeup(wakeup.id)).collect();
        self.store.commit(commit).await?;
        self.served.send_modify(|served| {
            served.insert(agent);
        });
        Ok(())
    }

    async fn give_up(&self, agent: AgentId, _: &str) -> Result<()> {
        self.given_up.lock().unwrap().push(agent);
        Ok(())
    }
}

/// Creates agents, each with a wake-up.
pub(crate) async fn agents(store: &dyn Store, count: usize, now: Time, due: Time) -> Vec<AgentId> {
    let made: Vec<Agent> = (0..count).map(|_| Agent::root(Owner::local(), "k", "", now)).collect();
    let mut commit = Commit::new(now);
    commit.writes.extend(made.iter().cloned().map(Write::NewAgent));
    let wakeup = |agent: &Agent| Write::ScheduleWakeup(Wakeup::new(agent.id, Owner::local(), due));
    commit.writes.extend(made.iter().map(wakeup));
    store.commit(commit).await.unwrap();
    made.iter().map(|agent| agent.id).collect()
}
