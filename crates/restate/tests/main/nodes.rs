//! Several nodes that serve one URI.

use std::{collections::HashSet, sync::Arc, time::Duration};

use entourage_engine::{Clock, Result, dispatch::Dispatcher};
use entourage_restate::{Call, Restate, register};
use entourage_store::{MemoryStore, Store};
use entourage_testkit::FakeClock;
use entourage_types::{AgentId, DatabaseId};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    balancer::Balancer,
    server::{Server, free_address, uri},
    worker::{Does, PATIENCE, Worker, agents, until},
};

/// More calls than Restate makes over one connection.
const MANY: usize = 200;

/// A node with a handle of its own of the store, and a clock of its own.
struct Node {
    worker: Arc<Worker>,
    clock: FakeClock,
    stop: CancellationToken,
    run: JoinHandle<Result<()>>,
}

impl Node {
    fn start(node: Restate, store: &MemoryStore) -> Self {
        let (store, clock): (Arc<dyn Store>, _) = (Arc::new(store.handle()), FakeClock::default());
        let worker = Worker::new(Arc::clone(&store));
        worker.has_them(Does::Hold);
        let stop = CancellationToken::new();
        let (engine, its_clock, token) = (Arc::clone(&worker), Arc::new(clock.clone()), stop.clone());
        let run = tokio::spawn(async move { node.run(engine, store, its_clock, token).await });
        Self { worker, clock, stop, run }
    }

    /// Has its sweeper look.
    async fn sweep(&self) {
        self.clock.sleeper(Duration::from_secs(30)).await;
        self.clock.advance(Duration::from_secs(30));
    }

    async fn stop(self) {
        self.stop.cancel();
        self.run.await.unwrap().unwrap();
    }
}

/// Two nodes behind a balancer that is registered, and their store.
async fn two(server: &Server) -> ([Node; 2], MemoryStore, Balancer) {
    let store = MemoryStore::default();
    let addresses = [free_address(), free_address()];
    let node = |address| Restate::new(server.settings(address)).unwrap();
    let nodes = addresses.map(|address| Node::start(node(address), &store));
    let balancer = Balancer::before(addresses.to_vec()).await;
    register(&server.admin, &uri(balancer.address)).await.unwrap();
    (nodes, store, balancer)
}

/// Creates agents by a handle of neither node, which therefore have no hint: a sweeper finds them.
async fn agents_of(store: &MemoryStore, count: usize) -> Vec<AgentId> {
    let now = FakeClock::default().now();
    agents(&store.handle(), count, now, now).await
}

/// Waits until the agents at work at both nodes together are so many.
async fn at_work(nodes: &[Node; 2], count: usize) {
    let [mut first, mut second] = nodes.each_ref().map(|node| node.worker.working.subscribe());
    let reached = async {
        while first.borrow_and_update().len() + second.borrow_and_update().len() != count {
            tokio::select! {
                changed = first.changed() => changed.unwrap(),
                changed = second.changed() => changed.unwrap(),
            }
        }
    };
    assert!(tokio::time::timeout(PATIENCE, reached).await.is_ok(), "{count} are at work");
}

/// Both nodes get calls, whichever of them made the commits.
#[tokio::test]
async fn two_nodes_share_the_work() {
    let Some(server) = Server::start().await else { return };
    let (nodes, store, _balancer) = two(&server).await;
    let made = agents_of(&store, MANY).await;
    nodes[0].sweep().await;
    at_work(&nodes, MANY).await;
    nodes.iter().for_each(|node| node.worker.has_them(Does::Serve));
    at_work(&nodes, 0).await;
    let served = nodes.each_ref().map(|node| node.worker.served.borrow().len());
    assert_eq!(served[0] + served[1], made.len());
    assert!(served[0] > 0 && served[1] > 0, "{served:?}");
    let [first, second] = nodes;
    let now = first.clock.now();
    first.stop().await;
    second.stop().await;
    assert_eq!(store.due(now, None, 10).await.unwrap(), []);
}

/// An agent at work at a node that is gone goes on at the other one.
#[tokio::test]
async fn an_agent_whose_node_is_gone_goes_on_at_the_other_one() {
    let Some(server) = Server::start().await else { return };
    let (nodes, store, _balancer) = two(&server).await;
    let made = agents_of(&store, 1).await;
    nodes[0].sweep().await;
    at_work(&nodes, 1).await;
    let [first, second] = nodes;
    let is_first = !first.worker.working.borrow().is_empty();
    let (gone, other) = if is_first { (first, second) } else { (second, first) };
    gone.run.abort();
    assert!(gone.run.await.is_err());
    other.worker.has_them(Does::Serve);
    until(&other.worker.served, "the other one serves it", |served| served.contains(&made[0])).await;
    other.stop().await;
}

/// A node that stops lets its agents go on and begins nothing, whatever Restate calls it for; once it has ended, all of that
/// goes on at the other node.
#[tokio::test]
async fn a_node_that_stops_leaves_its_calls_to_the_other_one() {
    let Some(server) = Server::start().await else { return };
    let (nodes, store, _balancer) = two(&server).await;
    let before = agents_of(&store, 1).await;
    nodes[0].sweep().await;
    at_work(&nodes, 1).await;
    let [first, second] = nodes;
    let is_first = !first.worker.working.borrow().is_empty();
    let (stopping, other) = if is_first { (first, second) } else { (second, first) };
    stopping.stop.cancel();
    let after = agents_of(&store, 1).await;
    other.sweep().await;
    server.calls_for(after[0]).await;
    assert_eq!(*stopping.worker.working.borrow(), before.iter().copied().collect::<HashSet<_>>());
    stopping.worker.has_them(Does::Leave);
    stopping.stop().await;
    let all = |working: &HashSet<AgentId>| working.contains(&before[0]) && working.contains(&after[0]);
    until(&other.worker.working, "the other one takes what was left", all).await;
    other.worker.has_them(Does::Serve);
    until(&other.worker.served, "both have gone on", |served| served.len() == 2).await;
    other.stop().await;
}

/// Of two databases that use one Restate, the one whose nodes are registered refuses the calls for agents of the other one,
/// which wait, and go on once their own nodes are registered.
#[tokio::test]
async fn a_node_refuses_calls_for_agents_of_another_database() {
    let Some(server) = Server::start().await else { return };
    let mut both = Vec::new();
    for _ in 0..2 {
        let (store, address) = (MemoryStore::default(), free_address());
        let made = agents_of(&store, 10).await;
        let restate = Restate::new(server.settings(address)).unwrap().of(DatabaseId::new());
        both.push((Node::start(restate.clone(), &store), restate, made, address));
    }
    let found = async |restate: &Restate| restate.examine(None).await.unwrap().call;
    for (at, (node, restate, made, address)) in both.iter().enumerate() {
        register(&server.admin, &uri(*address)).await.unwrap();
        assert!(matches!(found(restate).await, Call::Answered(_)));
        assert_eq!(found(&both[1 - at].1).await, Call::OtherDatabase);
        node.worker.has_them(Does::Serve);
        node.sweep().await;
        until(&node.worker.served, "its agents are served", |served| served.len() == made.len()).await;
        assert!(at == 1 || both[1].0.worker.served.borrow().is_empty());
    }
    for (node, ..) in both {
        node.stop().await;
    }
}

/// A node that works for no agent hands over what it schedules.
#[tokio::test]
async fn a_node_without_agents_hands_over_what_it_schedules() {
    let Some(server) = Server::start().await else { return };
    let ([first, second], store, _balancer) = two(&server).await;
    second.stop().await;
    let (api, stop) = (Restate::new(server.settings(free_address())).unwrap(), CancellationToken::new());
    let (handle, clock) = (Arc::new(store.handle()), FakeClock::default());
    let made = async {
        let made = agents(&*handle, 1, clock.now(), clock.now()).await;
        first.worker.has_them(Does::Serve);
        until(&first.worker.served, "the worker serves it", |served| served.contains(&made[0])).await;
        stop.cancel();
    };
    tokio::join!(
        api.hand_over(Arc::<MemoryStore>::clone(&handle), Arc::new(clock.clone()), stop.clone()),
        made
    );
    first.stop().await;
}

/// A command that ends right after its commit has handed over what it schedules.
#[tokio::test]
async fn what_a_command_schedules_is_handed_over_before_its_commit_returns() {
    let Some(server) = Server::start().await else { return };
    let ([first, second], store, _balancer) = two(&server).await;
    second.stop().await;
    first.worker.has_them(Does::Serve);
    let (command, clock) = (Restate::new(server.settings(free_address())).unwrap(), FakeClock::default());
    let handle = command.handing_over(Arc::new(store.handle()), Arc::new(clock.clone()));
    let made = agents(&*handle, 1, clock.now(), clock.now()).await;
    drop((handle, command));
    until(&first.worker.served, "the worker serves it", |served| served.contains(&made[0])).await;
    first.stop().await;
}
