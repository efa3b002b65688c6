//! One process of the engine: its nodes, what is delivered to them, and how it ends.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use entourage_engine::{Client, Engine, maintenance::jobs};
use entourage_llm::Model;
use entourage_store::{Commit, Committed, Result, Store};
use entourage_tools::Toolbox;
use entourage_types::{AgentId, Owner};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::cast;
use crate::{Dice, FakeClock, Fault, Faults, Layered, StoreLayer};

/// Lets other tasks run first now and then, so that activations interleave anywhere.
#[derive(Clone)]
struct Lingering(Dice);

#[async_trait]
impl StoreLayer for Lingering {
    async fn pass(&self) -> Result<()> {
        self.0.linger().await;
        Ok(())
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        let committed = store.commit(commit).await;
        self.0.linger().await;
        committed
    }
}

/// What outlives each process.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) dice: Dice,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: FakeClock,
    pub(super) model: Arc<dyn Model>,
    pub(super) tools: Toolbox,
    /// Whether the kind files are of the second edition.
    pub(super) edition: Arc<AtomicBool>,
    /// Engines on the same store, each unaware of the others.
    pub(super) nodes: usize,
}

/// One process, with all its nodes.
pub(super) struct Life {
    dice: Dice,
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
        let engine = |faults: Option<&Faults>| {
            let store: Arc<dyn Store> =
                Arc::new(Layered::new(Arc::clone(&stage.store), Lingering(dice.clone())));
            let store = match faults {
                Some(faults) => Arc::new(Layered::new(store, faults.clone())),
                None => store,
            };
            Engine::builder(store, Arc::clone(&stage.model))
                .tools(stage.tools.clone())
                .kinds(cast::kinds(stage.edition.load(Ordering::Relaxed)))
                .clock(Arc::new(stage.clock.clone()))
                .stopping(stop.clone())
                .build()
        };
        let nodes = (0..stage.nodes).map(|_| engine(Some(&faults))).collect();
        let mut working = JoinSet::new();
        let (rival, lost) = (engine(None), faults.clone());
        working.spawn(async move {
            // A failed wake-up is delivered again.
            let _ = rival.advance(lost.lost().await).await;
        });
        Self { dice, nodes, faults, stop, working, at_work: BTreeMap::new() }
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
        let engine = self.nodes[node].clone();
        let task = self.working.spawn(async move {
            // A failed wake-up is delivered again.
            let _ = engine.advance(agent).await;
        });
        self.at_work.insert(task.id(), (node, agent));
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
        self.working.shutdown().await;
    }
}
