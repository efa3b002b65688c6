//! One node: an engine with a connection to the store and one to the other nodes, what is delivered to it,
//! and its death.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use async_trait::async_trait;
use entourage_engine::{
    Client, Clock, Engine, Result as Done, Signals,
    dispatch::{Advance, Due},
    maintenance::jobs,
};
use entourage_store::{Claim, Commit, Committed, Layered, Result, Store, StoreLayer};
use entourage_types::{AgentId, Owner};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    cast,
    followers::Followers,
    life::{Machine, Stage},
    net::{Lease, Net},
    plan::{PLAN, Plan},
    purse::Purse,
    requests::{Answered, Check, Request},
};
use crate::kit::{Dice, PlantedAtNode, ShiftedClock};
use entourage_testkit::{FakeClock, Faults};

/// The connection of a node to the store: it lets other tasks run first now and then, so that activations
/// interleave anywhere, and a claim returns the store's time.
#[derive(Clone)]
struct Connection {
    dice: Dice,
    clock: FakeClock,
}

#[async_trait]
impl StoreLayer for Connection {
    async fn pass(&self) -> Result<()> {
        self.dice.linger().await;
        Ok(())
    }

    async fn claim(&self, store: &Arc<dyn Store>, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        let claim = store.claim(agent, from).await?;
        Ok(claim.map(|claim| Claim { now: Some(self.clock.now()), ..claim }))
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        let committed = store.commit(commit).await;
        self.dice.linger().await;
        committed
    }
}

/// The faults of a node, which strike at commits of agents only: if processes also ended at those of people, so many
/// would end in a row without progress that the engine rightly leaves a run for a person to stop.
#[derive(Clone)]
struct AgentFaults(Faults);

#[async_trait]
impl StoreLayer for AgentFaults {
    async fn pass(&self) -> Result<()> {
        self.0.pass().await
    }

    async fn claim(&self, store: &Arc<dyn Store>, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        self.0.claim(store, agent, from).await
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        if commit.fence.is_some() {
            return self.0.commit(store, commit).await;
        }
        self.pass().await?;
        store.commit(commit).await
    }
}

/// One node.
pub(super) struct Node {
    engine: Engine,
    purse: Purse,
    faults: Faults,
    check: Check,
    lease: Lease,
    stop: CancellationToken,
    working: JoinSet<()>,
    at_work: BTreeMap<Id, AgentId>,
}

impl Node {
    /// Starts a node on a machine.
    pub(super) fn new(stage: &Stage, machine: &Machine, net: &Net, faults: Faults) -> Self {
        let clock: Arc<dyn Clock> =
            Arc::new(ShiftedClock { clock: stage.clock.clone(), ahead: machine.ahead });
        let planted = stage.bug.map(|bug| PlantedAtNode::new(bug, Arc::clone(&clock)));
        let connection = Connection { dice: stage.dice.clone(), clock: stage.clock.clone() };
        let store: Arc<dyn Store> = Arc::new(Layered::new(Arc::clone(&machine.store), connection));
        let store = match &planted {
            Some(planted) => Arc::new(Layered::new(store, planted.clone())),
            None => store,
        };
        let builder = Engine::builder(
            Arc::new(Layered::new(store, AgentFaults(faults.clone()))),
            Arc::clone(&stage.model),
        )
        .tools(stage.tools.clone())
        .program(PLAN, Arc::new(Plan))
        .kinds(cast::kinds(stage.edition.load(Ordering::Relaxed), stage.purse))
        .budgets(stage.purse.budgets())
        .clock(clock);
        let stop = CancellationToken::new();
        let builder = builder.stopping(stop.clone());
        let (engine, lease, delivery) = net.add(|signals: Arc<dyn Signals>| {
            let signals = match planted {
                Some(planted) => planted.between(signals),
                None => signals,
            };
            builder.signals(signals).build()
        });
        let mut working = JoinSet::new();
        working.spawn(delivery);
        let check = Check { faults: faults.clone(), unexpected: stage.unexpected.clone() };
        let purse = stage.purse;
        Self { engine, purse, faults, check, lease, stop, working, at_work: BTreeMap::new() }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.faults.is_dead()
    }

    /// Kills the node. It ends when it is [ended](Self::end).
    pub(super) fn kill(&self) {
        self.faults.kill();
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &**self.engine.clock()
    }

    /// A person's client at this node.
    pub(super) fn client(&self, owner: &Owner) -> Client {
        self.engine.client(owner.clone())
    }

    /// What came of a request to this node.
    pub(super) fn came_of<T>(&self, request: Request, done: Done<T>) -> Answered<T> {
        self.check.came_of(request, done)
    }

    /// Runs any maintenance job. An inconsistency is a fault: the engine must cause none.
    pub(super) async fn keep_up(&self, dice: &Dice) -> Option<String> {
        let jobs = jobs();
        let job = dice.pick(&jobs)?;
        let found = self.came_of(Request::RunJob, job.find(&self.engine).await).done()?;
        let run = self.came_of(Request::RunJob, self.engine.job_run(&**job).await).done()?;
        if let Some(error) = run.error.filter(|_| !self.is_dead()) {
            self.check.failed(Request::RunJob, &error);
        }
        let first = found.first()?;
        Some(format!("maintenance ({}) found: {}", job.name(), first.text))
    }

    /// Reloads the kind files.
    pub(super) fn reload(&self, second: bool) {
        self.came_of(Request::Reload, self.engine.renew(cast::kinds(second, self.purse), Vec::new()));
    }

    /// Delivers a wake-up, unless the agent is at work here: then it is delivered later.
    pub(super) fn deliver(&mut self, agent: AgentId, due: Due) {
        if self.at_work.values().any(|at_work| *at_work == agent) {
            return;
        }
        let (engine, check) = (self.engine.clone(), self.check.clone());
        let task = self.working.spawn(async move {
            check.came_of(Request::Advance, Advance::advance(&engine, agent, due).await);
        });
        self.at_work.insert(task.id(), agent);
    }

    /// Has a subscriber follow its tree here.
    pub(super) fn connect(&mut self, followers: &Followers, nth: usize) {
        self.working.spawn(followers.follow(nth, &self.engine, self.check.clone()));
    }

    /// Goes on with the agent of another node that has lost its epoch, once there is one.
    pub(super) fn take_over_from(&mut self, faults: &Faults) {
        let (engine, check, faults) = (self.engine.clone(), self.check.clone(), faults.clone());
        self.working.spawn(async move {
            let agent = faults.taken_over().await;
            check.came_of(Request::Advance, engine.advance(agent).await);
        });
    }

    /// Gives the node its lease back, or takes it away: then it leaves all its agents, and from then on the
    /// others do not count on it.
    pub(super) async fn toggle_lease(&self) {
        if !self.lease.is_held() {
            return self.lease.give();
        }
        self.lease.take();
        for agent in self.at_work.values() {
            self.engine.evict_local(*agent).await;
        }
        self.lease.expire();
    }

    /// Forgets activations that have ended.
    pub(super) fn tidy_up(&mut self) {
        while let Some(ended) = self.working.try_join_next_with_id() {
            let id = match ended {
                Ok((id, ())) => id,
                Err(error) => {
                    self.check.unexpected.add(format!("a task of a node: {error}"));
                    error.id()
                }
            };
            self.at_work.remove(&id);
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.at_work.is_empty()
    }

    /// Ends the node immediately. Only then the others do not reach it any more: until then it may begin
    /// something.
    pub(super) async fn end(mut self, net: &Net) {
        self.kill();
        self.stop.cancel();
        self.working.shutdown().await;
        net.remove(&self.lease);
    }
}
