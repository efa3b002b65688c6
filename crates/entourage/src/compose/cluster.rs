//! One process of several that share a store: its links to the others, and the part that it takes in their work.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_engine::{
    Clock, Engine, Signals, SystemClock,
    dispatch::{self, Advance, Dispatcher, HandOver, Shared},
};
use entourage_mesh::Mesh;
use entourage_store::{Nodes, Store};
use entourage_types::{DispatchBy, NodeRole, Wakeup};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::part::Part;
use crate::{Result, settings};

/// How often a node looks whether a job of which only one node takes care is its own.
const LOOK: Duration = Duration::from_secs(3);

/// This process, as one of several.
#[derive(Clone)]
pub(super) struct Cluster {
    mesh: Mesh,
    nodes: Arc<dyn Nodes>,
    woken: broadcast::Sender<Arc<[Wakeup]>>,
}

impl Cluster {
    /// Joins the nodes that share this store, with this part.
    /// `dispatch` is what tells it which agents are due, the same for all.
    ///
    /// # Errors
    /// [`Error::Cluster`](crate::Error::Cluster).
    pub(super) async fn join(
        nodes: Arc<dyn Nodes>,
        set: &settings::Cluster,
        part: Part,
        dispatch: DispatchBy,
    ) -> Result<Self> {
        let mesh = entourage_mesh::Settings {
            role: if part == Part::Works { set.role } else { NodeRole::Api },
            dispatch,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            listen: part.stays().then_some(set.listen),
            address: set.address.clone(),
        };
        let mesh = Mesh::join(Arc::clone(&nodes), mesh, || SystemClock.now()).await?;
        Ok(Self { mesh, nodes, woken: broadcast::Sender::new(Shared::HANDED_OVER) })
    }

    /// Where this process listens for the others.
    pub(super) fn listens_at(&self) -> Option<SocketAddr> {
        self.mesh.listens_at()
    }

    /// What the engine tells the other nodes by.
    pub(super) fn signals(&self) -> Arc<dyn Signals> {
        Arc::new(self.mesh.clone())
    }

    /// What delivers wake-ups at this node.
    pub(super) fn dispatcher(&self, part: Part, settings: dispatch::Settings) -> Arc<dyn Dispatcher> {
        let shared = Shared::new(settings, Arc::clone(&self.nodes), self.signals(), self.woken.clone());
        let hand_over = HandOver::new(self.signals());
        match part {
            Part::Looks | Part::Answers => Arc::new(hand_over),
            Part::Visits => Arc::new(Visiting { mesh: self.mesh.clone(), hand_over, shared }),
            Part::Works => Arc::new(shared),
        }
    }

    /// Says so once there is no other node at which agents work. Returns never.
    #[cfg(feature = "restate")]
    pub(super) async fn warn_where_none_works(&self) {
        self.mesh.until_none_works().await;
        tracing::warn!(
            "no process works for agents, and this one waits for one: start it with `entourage serve --role worker`"
        );
        std::future::pending().await
    }

    /// Keeps the links to the others, until it is dropped.
    pub(super) async fn run(&self, engine: Engine) {
        self.mesh.run(engine, self.woken.clone()).await;
    }

    /// Does a job of which only one node takes care, while that is this node.
    pub(super) async fn alone<F: Future<Output = ()>>(&self, job: &str, work: impl Fn() -> F) {
        loop {
            if self.has(job).await {
                tokio::select! {
                    () = work() => return,
                    () = self.loses(job) => {}
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn has(&self, job: &str) -> bool {
        match self.nodes.take_job(job).await {
            Ok(is_ours) => is_ours,
            Err(error) => {
                tracing::debug!(job, %error, "whose job it is could not be read");
                false
            }
        }
    }

    async fn loses(&self, job: &str) {
        loop {
            tokio::time::sleep(LOOK).await;
            if !self.has(job).await {
                return;
            }
        }
    }

    /// Tells the others that this node takes no more work.
    pub(super) async fn drain(&self) {
        if let Err(error) = self.mesh.drain().await {
            tracing::debug!(%error, "the other nodes were not told that this one is about to end");
        }
    }

    /// Leaves the others, who take over at once what is left.
    pub(super) async fn leave(&self) {
        if let Err(error) = self.mesh.leave().await {
            tracing::warn!(%error, "the other nodes were not told that this one has ended: they take over in some seconds");
        }
    }
}

/// The dispatcher of a process that comes for one command: agents work at other nodes while there are any at which they do,
/// and here from then on.
struct Visiting {
    mesh: Mesh,
    hand_over: HandOver,
    shared: Shared,
}

#[async_trait]
impl Dispatcher for Visiting {
    async fn run(
        &self,
        engine: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> entourage_engine::Result<()> {
        let handed_over =
            self.hand_over.run(Arc::clone(&engine), Arc::clone(&store), Arc::clone(&clock), stop.clone());
        tokio::select! {
            ended = handed_over => return ended,
            () = self.mesh.until_none_works() => {}
        }
        // No agent works here before the others can know it: they ask this node when one is deleted.
        while let Err(error) = self.mesh.set_role(NodeRole::Visitor).await {
            tracing::debug!(%error, "the other nodes were not told that agents work here");
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = stop.cancelled() => return Ok(()),
            }
        }
        self.shared.run(engine, store, clock, stop).await
    }
}
