//! Nodes in one process, over one store in memory.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use entourage_engine::{
    Client, Clock, Engine, SystemClock,
    dispatch::{self, Dispatcher, HandOver, Shared},
};
use entourage_llm::Model;
use entourage_mesh::{Mesh, Settings};
use entourage_store::{MemoryNodes, MemoryStore, Nodes, Store};
use entourage_types::{DispatchBy, NodeRole, Owner, Time};
use tokio::{sync::broadcast, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// What several nodes share: rows, and a clock.
pub(crate) struct Place {
    rows: MemoryStore,
    nodes: MemoryNodes,
    ahead: Arc<AtomicI64>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let (rows, ahead) = (MemoryStore::default(), Arc::new(AtomicI64::new(0)));
        let its_ahead = Arc::clone(&ahead);
        let now = move || Time::from_micros(SystemClock.now().micros() + its_ahead.load(Ordering::SeqCst));
        Self { nodes: MemoryNodes::new(rows.clone(), now), rows, ahead }
    }

    /// The store's clock goes on by as much.
    pub(crate) fn advance(&self, by: Duration) {
        self.ahead.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }

    /// The store forgets its nodes.
    pub(crate) fn crash(&self) {
        self.nodes.crash();
    }

    /// A node, once it is at work.
    pub(crate) async fn node(&self, role: NodeRole, model: impl Model) -> Node {
        self.node_at(role, model, None).await
    }

    /// A node that the others reach at this address.
    pub(crate) async fn node_at(
        &self,
        role: NodeRole,
        model: impl Model,
        address: Option<SocketAddr>,
    ) -> Node {
        let store: Arc<dyn Store> = Arc::new(self.rows.handle());
        let nodes: Arc<dyn Nodes> = Arc::new(self.nodes.another());
        let settings = Settings {
            role,
            dispatch: DispatchBy::Database,
            version: "1".to_owned(),
            listen: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            address: address.map(|address| address.to_string()),
        };
        let mesh = Mesh::join(Arc::clone(&nodes), settings, self.clock()).await.unwrap();
        let engine =
            Engine::builder(Arc::clone(&store), Arc::new(model)).signals(Arc::new(mesh.clone())).build();
        let (woken, stop) = (broadcast::Sender::new(64), CancellationToken::new());
        let dispatcher: Arc<dyn Dispatcher> = match role {
            NodeRole::Api => Arc::new(HandOver::new(Arc::new(mesh.clone()))),
            NodeRole::All | NodeRole::Worker | NodeRole::Visitor => Arc::new(Shared::new(
                dispatch::Settings::default(),
                nodes,
                Arc::new(mesh.clone()),
                woken.clone(),
            )),
        };
        let mut tasks = JoinSet::new();
        let (its_mesh, its_engine) = (mesh.clone(), engine.clone());
        tasks.spawn(async move { its_mesh.run(its_engine, woken).await });
        let (advance, its_stop) = (Arc::new(engine.clone()), stop.clone());
        tasks.spawn(
            async move { dispatcher.run(advance, store, Arc::new(SystemClock), its_stop).await.unwrap() },
        );
        Node { engine, mesh, stop, tasks }
    }

    fn clock(&self) -> impl Fn() -> Time + Clone + Send + Sync + 'static {
        let ahead = Arc::clone(&self.ahead);
        move || Time::from_micros(SystemClock.now().micros() + ahead.load(Ordering::SeqCst))
    }
}

/// One node; it is gone without a word when it is dropped.
pub(crate) struct Node {
    pub(crate) engine: Engine,
    pub(crate) mesh: Mesh,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: JoinSet<()>,
}

impl Node {
    pub(crate) fn client(&self) -> Client {
        self.engine.client(Owner::local())
    }

    /// Waits until it is linked to as many others.
    pub(crate) async fn linked(&self, others: usize) {
        until("it is linked", || {
            let found = self.mesh.others();
            found.len() == others && found.iter().all(|(_, is_up)| *is_up)
        })
        .await;
    }
}

/// Waits for something.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(60), future).await {
        Ok(done) => done,
        Err(_) => panic!("not within a minute: {what}"),
    }
}

/// Waits until something holds that is looked at every few milliseconds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let mut often = tokio::time::interval(Duration::from_millis(5));
    within(what, async {
        while !holds() {
            often.tick().await;
        }
    })
    .await;
}
