//! The nodes that run at once: they die one by one or together, and new ones take their places.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use entourage_engine::dispatch::Due;
use entourage_llm::Model;
use entourage_store::Store;
use entourage_tools::Toolbox;
use entourage_types::AgentId;

use super::{followers::Followers, net::Net, node::Node, purse::Purse, requests::Unexpected};
use crate::kit::{Bug, Dice};
use entourage_testkit::{FakeClock, Fault, Faults};

/// What outlives all nodes.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) dice: Dice,
    pub(super) bug: Option<Bug>,
    /// A handle for whoever looks from outside.
    pub(super) store: Arc<dyn Store>,
    /// The store's clock.
    pub(super) clock: FakeClock,
    pub(super) machines: Vec<Machine>,
    pub(super) model: Arc<dyn Model>,
    pub(super) tools: Toolbox,
    /// What its budgets limit.
    pub(super) purse: Purse,
    /// Whether the kind files are of the second edition.
    pub(super) edition: Arc<AtomicBool>,
    /// The errors that nobody may get.
    pub(super) unexpected: Unexpected,
}

/// A machine, on which one node runs after another.
#[derive(Clone)]
pub(super) struct Machine {
    /// Its handle on the rows.
    pub(super) store: Arc<dyn Store>,
    /// By how many seconds its clock is ahead of the store's.
    pub(super) ahead: i64,
}

/// The nodes that run at once, until all of them are dead.
pub(super) struct Life {
    dice: Dice,
    net: Net,
    /// The node of each machine; none after its death.
    nodes: Vec<Option<Node>>,
    /// Goes on with what a node has lost to it. It does not die before the others.
    rival: Node,
}

impl Life {
    /// Starts a node on every machine. Those of some lives are one process, and die together.
    pub(super) fn new(stage: &Stage, calm: bool) -> Self {
        let (dice, net) = (stage.dice.clone(), Net::new(stage.dice.clone()));
        let rival = Node::new(stage, &stage.machines[0], &net, Faults::default());
        let nodes = stage.machines.iter().map(|_| None).collect();
        let mut life = Self { dice, net, nodes, rival };
        let shared = (calm || life.dice.chance(30)).then(|| life.faults(calm));
        for nth in 0..stage.machines.len() {
            let faults = shared.clone().unwrap_or_else(|| life.faults(false));
            life.start(stage, nth, faults);
        }
        life
    }

    /// Faults of a node that is to start.
    fn faults(&self, calm: bool) -> Faults {
        if calm || self.dice.chance(25) {
            return Faults::default();
        }
        let fault = Fault::ENDING[self.dice.below(Fault::ENDING.len())];
        Faults::default().plan(1 + self.dice.below(25) as u64, fault)
    }

    fn start(&mut self, stage: &Stage, nth: usize, faults: Faults) {
        self.rival.take_over_from(&faults);
        self.nodes[nth] = Some(Node::new(stage, &stage.machines[nth], &self.net, faults));
    }

    fn living(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten()
    }

    /// Any of the nodes.
    pub(super) fn node(&self) -> &Node {
        let nodes: Vec<&Node> = self.living().collect();
        nodes[self.dice.below(nodes.len())]
    }

    fn node_mut(&mut self) -> &mut Node {
        let mut nodes: Vec<&mut Node> = self.nodes.iter_mut().flatten().collect();
        nodes.swap_remove(self.dice.below(nodes.len()))
    }

    pub(super) fn is_over(&self) -> bool {
        self.living().all(Node::is_dead)
    }

    /// Kills all nodes.
    pub(super) fn kill(&self) {
        self.living().for_each(Node::kill);
    }

    /// Ends the nodes that have died, unless that is all of them.
    pub(super) async fn bury(&mut self) {
        // All at once: while one of them ends, another may die.
        let dead: Vec<Node> =
            self.nodes.iter_mut().filter_map(|place| place.take_if(|node| node.is_dead())).collect();
        for node in dead {
            node.end(&self.net).await;
        }
    }

    /// Starts a node in the place of one that has died, if one has.
    pub(super) fn replace(&mut self, stage: &Stage) {
        if let Some(nth) = self.nodes.iter().position(Option::is_none) {
            let faults = self.faults(false);
            self.start(stage, nth, faults);
        }
    }

    /// The kind files have changed, and one of the nodes reloads them.
    pub(super) fn reload(&self, stage: &Stage) {
        let second = !stage.edition.fetch_xor(true, Ordering::Relaxed);
        self.node().reload(second);
    }

    /// Delivers a wake-up to any node. It is due by the clock of any node: that of the one that has found it.
    pub(super) fn deliver(&mut self, agent: AgentId) {
        let due = Due { by: self.node().clock().now() };
        self.node_mut().deliver(agent, due);
    }

    /// Connects every subscriber that has no node to any node.
    pub(super) fn connect(&mut self, followers: &Followers) {
        for nth in followers.lost() {
            self.node_mut().connect(followers, nth);
        }
    }

    /// Forgets activations that have ended.
    pub(super) fn tidy_up(&mut self) {
        self.nodes.iter_mut().flatten().for_each(Node::tidy_up);
        self.rival.tidy_up();
    }

    pub(super) fn is_busy(&self) -> bool {
        self.living().any(Node::is_busy)
    }

    /// Ends all nodes immediately.
    pub(super) async fn end(self) {
        self.kill();
        for node in self.nodes.into_iter().flatten() {
            node.end(&self.net).await;
        }
        self.rival.end(&self.net).await;
    }
}
