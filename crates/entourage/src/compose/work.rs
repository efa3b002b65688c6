//! The work of one process: it delivers wake-ups and what is in the outbox, maintains the engine, and takes its part among
//! the processes that share its database.

use std::sync::Arc;

use entourage_engine::{
    Engine, LocalSignals, Result as EngineResult, Signals, Transport,
    dispatch::{self, Advance, Dispatcher, Embedded},
};
use entourage_store::Store;
use entourage_types::DispatchBy;
use tokio::task::JoinSet;

use super::{ByRestate, cluster::Cluster, part::Part};
use crate::{Result, settings};

/// The part of this process among those that share its database: all of it, if it has the database to itself.
#[derive(Clone)]
pub(crate) struct Place {
    pub(super) cluster: Option<Cluster>,
    dispatcher: Arc<dyn Dispatcher>,
}

impl Place {
    /// Joins the processes that share this store, if others can. The database delivers to them, or Restate.
    ///
    /// # Errors
    /// [`Error::Cluster`](crate::Error::Cluster) and, where Restate's calls cannot be taken, `Error::Restate`.
    pub(crate) async fn take(
        store: &dyn Store,
        set: &settings::Cluster,
        dispatch: dispatch::Settings,
        by_restate: Option<ByRestate>,
    ) -> Result<Self> {
        let Some(nodes) = store.nodes() else {
            return Ok(Self { cluster: None, dispatcher: Arc::new(Embedded::new(dispatch)) });
        };
        let part = Part::of(set);
        let (dispatcher, cluster) = match by_restate {
            Some(mut by_restate) => {
                by_restate.set_database(nodes.database().await?);
                by_restate.listen().await?;
                let cluster = Cluster::join(nodes, set, part, DispatchBy::Restate).await?;
                (by_restate.dispatcher(cluster.clone()), cluster)
            }
            None => {
                let cluster = Cluster::join(nodes, set, part, DispatchBy::Database).await?;
                (cluster.dispatcher(part, dispatch), cluster)
            }
        };
        Ok(Self { dispatcher, cluster: Some(cluster) })
    }

    /// Whether other processes may share the store.
    pub(crate) const fn is_shared(&self) -> bool {
        self.cluster.is_some()
    }

    /// What the engine tells the other processes by.
    pub(crate) fn signals(&self) -> Arc<dyn Signals> {
        match &self.cluster {
            Some(cluster) => cluster.signals(),
            None => Arc::new(LocalSignals),
        }
    }

    /// Delivers wake-ups to `advance`, makes the deliveries of the outbox if there is a transport, and runs the engine's
    /// maintenance, until the engine is stopping.
    ///
    /// # Errors
    /// When the database cannot be read at all.
    pub(crate) async fn work(
        self,
        engine: Engine,
        advance: Arc<dyn Advance>,
        transport: Option<Arc<dyn Transport>>,
    ) -> EngineResult<()> {
        let (store, clock) = (Arc::clone(engine.store()), Arc::clone(engine.clock()));
        let stop = engine.stopping().clone();
        // The tasks end with this function, however it ends.
        let mut beside = JoinSet::new();
        if let Some(transport) = transport {
            let (delivering, cluster) = (engine.clone(), self.cluster.clone());
            beside.spawn(async move {
                let deliver = || delivering.deliver(Arc::clone(&transport));
                match cluster {
                    Some(cluster) => cluster.alone("outbox", deliver).await,
                    None => deliver().await,
                }
            });
        }
        if let Some(cluster) = self.cluster.clone() {
            let (linked, mesh) = (engine.clone(), cluster.clone());
            beside.spawn(async move { mesh.run(linked).await });
            let stopping = stop.clone();
            beside.spawn(async move {
                stopping.cancelled().await;
                cluster.drain().await;
            });
        }
        beside.spawn(async move { engine.keep_up().await });
        let ended = self.dispatcher.run(advance, store, clock, stop).await;
        // No sign of life of this process follows its end.
        beside.shutdown().await;
        if let Some(cluster) = self.cluster {
            cluster.leave().await;
        }
        ended
    }
}
