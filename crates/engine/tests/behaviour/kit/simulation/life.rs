//! One process of the engine: its nodes, what is delivered to them, and how it ends.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use entourage_engine::{
    Client, Clock, Engine,
    dispatch::{Advance, Due},
    maintenance::jobs,
};
use entourage_llm::Model;
use entourage_store::{Claim, Commit, Committed, Layered, Result, Store, StoreLayer};
use entourage_tools::Toolbox;
use entourage_types::{Agent, AgentId, Owner};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{cast, followers::Followers, net::Net};
use crate::kit::Dice;
use entourage_testkit::{FakeClock, Fault, Faults};

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

/// What outlives each process.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) dice: Dice,
    /// A handle for whoever looks from outside.
    pub(super) store: Arc<dyn Store>,
    /// The store's clock.
    pub(super) clock: FakeClock,
    /// What each node has of its own.
    pub(super) nodes: Vec<Machine>,
    pub(super) model: Arc<dyn Model>,
    pub(super) tools: Toolbox,
    /// Whether the kind files are of the second edition.
    pub(super) edition: Arc<AtomicBool>,
}

/// The machine of a node.
#[derive(Clone)]
pub(super) struct Machine {
    /// Its handle on the rows.
    pub(super) store: Arc<dyn Store>,
    /// By how many seconds its clock is ahead of the store's.
    pub(super) ahead: i64,
}

/// One process, with all its nodes.
pub(super) struct Life {
    dice: Dice,
    net: Net,
    clock: FakeClock,
    nodes: Vec<Engine>,
    faults: Faults,
    stop: CancellationToken,
    working: JoinSet<()>,
    at_work: BTreeMap<Id, (usize, AgentId)>,
}

impl Life {
    pub(super) fn new(stage: &Stage, calm: bool) -> Self {
        let dice = stage.dice.clone();
        let faults = if calm || dice.chance(25) {
            Faults::none()
        } else {
            let fault = Fault::ENDING[dice.below(Fault::ENDING.len())];
            Faults::at(1 + dice.below(25) as u64, fault)
        };
        let stop = CancellationToken::new();
        let (net, mut working) = (Net::new(dice.clone()), JoinSet::new());
        let mut node = |machine: &Machine, faults: Option<&Faults>| {
            let connection = Connection { dice: dice.clone(), clock: stage.clock.clone() };
            let store: Arc<dyn Store> = Arc::new(Layered::new(Arc::clone(&machine.store), connection));
            let store = match faults {
                Some(faults) => Arc::new(Layered::new(store, faults.clone())),
                None => store,
            };
            let builder = Engine::builder(store, Arc::clone(&stage.model))
                .tools(stage.tools.clone())
                .kinds(cast::kinds(stage.edition.load(Ordering::Relaxed)))
                .clock(Arc::new(stage.clock.ahead(machine.ahead)))
                .stopping(stop.clone());
            let (engine, delivery) = net.add(|signals| builder.signals(signals).build());
            working.spawn(delivery);
            engine
        };
        let nodes: Vec<Engine> = stage.nodes.iter().map(|machine| node(machine, Some(&faults))).collect();
        let (rival, lost) = (node(&stage.nodes[0], None), faults.clone());
        working.spawn(async move {
            // A failed wake-up is delivered again.
            let _ = rival.advance(lost.lost().await).await;
        });
        let clock = stage.clock.clone();
        Self { dice, net, clock, nodes, faults, stop, working, at_work: BTreeMap::new() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.faults.dead()
    }

    /// Kills the process.
    pub(super) fn kill(&self) {
        self.faults.kill();
    }

    /// Any of the nodes.
    fn node(&self) -> &Engine {
        &self.nodes[self.dice.below(self.nodes.len())]
    }

    /// A person's client at any of the nodes.
    pub(super) fn client(&self, owner: &Owner) -> Client {
        self.node().client(owner.clone())
    }

    /// Runs a maintenance job at any of the nodes. An inconsistency is a fault: the engine must
    /// cause none.
    pub(super) async fn keep_up(&self) -> Option<String> {
        let (jobs, node) = (jobs(), self.node());
        let job = self.dice.pick(&jobs)?;
        // A failed job runs again later.
        let found = job.find(node).await.ok()?;
        node.job_run(&**job).await.ok()?;
        found
            .first()
            .map(|inconsistency| format!("maintenance ({}) found: {}", job.name(), inconsistency.text))
    }

    /// The kind files have changed, and one of the nodes reloads them.
    pub(super) fn reload(&self, stage: &Stage) {
        let second = !stage.edition.fetch_xor(true, Ordering::Relaxed);
        // The files contain no mistake.
        let _ = self.node().renew(cast::kinds(second), Vec::new());
    }

    /// Delivers a wake-up to any node, unless the agent is at work there: then it is delivered
    /// later.
    pub(super) fn deliver(&mut self, agent: AgentId) {
        let node = self.dice.below(self.nodes.len());
        if self.at_work.values().any(|at_work| *at_work == (node, agent)) {
            return;
        }
        let (engine, due) = (self.nodes[node].clone(), Due { by: self.clock.now() });
        let task = self.working.spawn(async move {
            // A failed wake-up is delivered again.
            let _ = Advance::advance(&engine, agent, due).await;
        });
        self.at_work.insert(task.id(), (node, agent));
    }

    /// Gives any node its lease, or takes it away.
    pub(super) fn toggle_lease(&self) {
        self.net.toggle_lease();
    }

    /// Has somebody follow the tree of each of these agents at every node.
    pub(super) fn follow(&mut self, agents: &[Agent], followers: &Followers) {
        for root in agents.iter().filter(|agent| agent.parent.is_none()) {
            for (nth, node) in self.nodes.iter().enumerate() {
                let client = node.client(root.owner.clone());
                self.working.spawn(followers.clone().follow(client, root.id, nth));
            }
        }
    }

    /// Forgets activations that have ended. The runtime reports those that panicked.
    pub(super) fn tidy_up(&mut self) {
        while let Some(ended) = self.working.try_join_next_with_id() {
            let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
            self.at_work.remove(&id);
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.at_work.is_empty()
    }

    /// Ends the process immediately.
    pub(super) async fn end(mut self) {
        self.faults.kill();
        self.stop.cancel();
        self.net.end();
        self.working.shutdown().await;
    }
}
