//! What delivery by Restate costs: `tests/services/restate.sh start` prints two URLs, and
//! `cargo run --release -p entourage-restate --example measure -- INGRESS ADMIN` prints the figures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "it is run by hand")]

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use entourage_engine::{
    Clock, Result, SystemClock,
    dispatch::{Advance, Dispatcher, Due, Embedded},
};
use entourage_restate::{Restate, Settings, register};
use entourage_store::{Commit, MemoryStore, Store, Write};
use entourage_types::{Agent, AgentId, Owner, Wakeup};
use tokio::{
    io::copy_bidirectional,
    net::TcpStream,
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
};
use tokio_util::sync::CancellationToken;
use url::Url;

/// Agents that serve their wake-ups, and say when they began.
struct Worker {
    store: Arc<dyn Store>,
    began: UnboundedSender<Instant>,
    /// None of them ends before this is cancelled.
    held: Mutex<CancellationToken>,
}

#[async_trait]
impl Advance for Worker {
    fn woken(&self, _: AgentId) {}

    async fn advance(&self, agent: AgentId, due: Due) -> Result<()> {
        let _ = self.began.send(Instant::now());
        let held = self.held.lock().unwrap().clone();
        held.cancelled().await;
        let Some(claim) = self.store.claim(agent, 0).await? else { return Ok(()) };
        let mut commit = Commit::fenced(&claim.agent, due.by);
        commit.writes = claim.wakeups.iter().map(|wakeup| Write::ConsumeWakeup(wakeup.id)).collect();
        self.store.commit(commit).await?;
        Ok(())
    }

    async fn give_up(&self, _: AgentId, _: &str) -> Result<()> {
        Ok(())
    }
}

/// A node, its store, and when its agents began.
struct Node {
    store: Arc<MemoryStore>,
    worker: Arc<Worker>,
    began: UnboundedReceiver<Instant>,
    run: tokio::task::JoinHandle<Result<()>>,
}

impl Node {
    fn start(dispatcher: Arc<dyn Dispatcher>, store: &Arc<MemoryStore>) -> Self {
        let (began_at, began) = unbounded_channel();
        let free = CancellationToken::new();
        free.cancel();
        let handle: Arc<dyn Store> = Arc::<MemoryStore>::clone(store);
        let worker = Arc::new(Worker { store: Arc::clone(&handle), began: began_at, held: Mutex::new(free) });
        let engine: Arc<dyn Advance> = Arc::<Worker>::clone(&worker);
        let run = tokio::spawn(async move {
            dispatcher.run(engine, handle, Arc::new(SystemClock), CancellationToken::new()).await
        });
        Self { store: Arc::clone(store), worker, began, run }
    }

    async fn wake(&self, count: usize) {
        let now = SystemClock.now();
        let mut commit = Commit::new(now);
        for _ in 0..count {
            let agent = Agent::root(Owner::local(), "k", "", now);
            commit.push(Write::ScheduleWakeup(Wakeup::new(agent.id, Owner::local(), now)));
            commit.push(Write::NewAgent(agent));
        }
        commit.writes.sort_by_key(|write| matches!(write, Write::ScheduleWakeup(_)));
        self.store.commit(commit).await.unwrap();
    }

    /// The time from a commit to the activation, over and over.
    async fn latency(&mut self, name: &str) {
        let mut taken = Vec::new();
        for _ in 0..300 {
            let begun = Instant::now();
            self.wake(1).await;
            taken.push(self.began.recv().await.unwrap() - begun);
        }
        taken.sort();
        println!("{name}: from commit to activation p50 {:?}, p95 {:?}", taken[150], taken[285]);
    }

    /// How many wake-ups are delivered in a second.
    async fn rate(&mut self, name: &str) {
        let (count, begun) = (3_000, Instant::now());
        for _ in 0..count / 50 {
            self.wake(50).await;
        }
        for _ in 0..count {
            self.began.recv().await.unwrap();
        }
        println!("{name}: {:.0} deliveries/s", f64::from(count) / begun.elapsed().as_secs_f64());
    }
}

/// Carries connections to a node. Those that it carries at a silence stay open, and nothing comes through them any more.
async fn relay(listener: tokio::net::TcpListener, node: SocketAddr, silence: Arc<Notify>) {
    loop {
        let (mut from, _) = listener.accept().await.unwrap();
        let silence = Arc::clone(&silence);
        tokio::spawn(async move {
            let mut to = TcpStream::connect(node).await.unwrap();
            tokio::select! {
                _ = copy_bidirectional(&mut from, &mut to) => {}
                () = silence.notified() => std::future::pending().await,
            }
        });
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap()
}

fn restate(ingress: &Url, listen: SocketAddr) -> Arc<dyn Dispatcher> {
    Arc::new(Restate::new(Settings::new(ingress.clone(), listen)).unwrap())
}

#[tokio::main]
async fn main() {
    let urls: Vec<Url> = std::env::args().skip(1).map(|url| url.parse().unwrap()).collect();
    let [ingress, admin] = &urls[..] else { panic!("give the URLs of Restate's ingress and admin") };
    let listen = free_address();
    let store = Arc::new(MemoryStore::default());

    let mut embedded = Node::start(Arc::new(Embedded::default()), &store);
    embedded.latency("embedded").await;
    embedded.rate("embedded").await;
    embedded.run.abort();

    let mut node = Node::start(restate(ingress, listen), &store);
    register(admin, &format!("http://{listen}").parse().unwrap()).await.unwrap();
    node.latency("restate").await;
    node.rate("restate").await;

    // One that is at work when its node dies, which is what a connection that breaks looks like from Restate.
    for _ in 0..3 {
        *node.worker.held.lock().unwrap() = CancellationToken::new();
        node.wake(1).await;
        node.began.recv().await.unwrap();
        let died = Instant::now();
        node.run.abort();
        let _ = (&mut node.run).await;
        node = Node::start(restate(ingress, listen), &store);
        let after = node.began.recv().await.unwrap() - died;
        println!("restate: an agent goes on {after:?} after its node died");
        // Its call is over.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }

    // The same if its connection goes silent, as that of a node that is frozen.
    let (relayed, silence) = (free_address(), Arc::new(Notify::new()));
    let listener = tokio::net::TcpListener::bind(relayed).await.unwrap();
    tokio::spawn(relay(listener, listen, Arc::clone(&silence)));
    register(admin, &format!("http://{relayed}").parse().unwrap()).await.unwrap();
    for _ in 0..3 {
        *node.worker.held.lock().unwrap() = CancellationToken::new();
        node.wake(1).await;
        node.began.recv().await.unwrap();
        let silent = Instant::now();
        silence.notify_waiters();
        let held = std::mem::replace(&mut *node.worker.held.lock().unwrap(), CancellationToken::new());
        node.began.recv().await.unwrap();
        println!("restate: an agent goes on {:?} after its node fell silent", silent.elapsed());
        held.cancel();
        node.worker.held.lock().unwrap().cancel();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
