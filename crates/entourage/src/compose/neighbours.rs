//! The processes that share a database, as one of them sees the others.

use std::sync::Arc;

use entourage_engine::{Clock, SystemClock};
use entourage_mesh::{Mesh, Settings as MeshSettings};
use entourage_types::{NodeId, NodeRole};

use crate::{Result, Settings};

/// The processes that share a database.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// Those that are alive, without the one that asks.
    pub nodes: Vec<Neighbour>,
    /// By how many microseconds this machine's clock is ahead of the database's; less than zero if it is behind.
    pub ahead: i64,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct Neighbour {
    /// Its id, another one at each start.
    pub id: NodeId,
    /// What it does.
    pub role: NodeRole,
    /// The version of its program.
    pub version: String,
    /// Whether it is about to end.
    pub draining: bool,
    /// Where it says that it is reached; none if it accepts no connections.
    pub address: Option<String>,
    /// Whether it is reached there from here, or why not.
    pub reached: Option<Result<(), String>>,
}

/// Looks at the processes that share the database of these settings, and tries the way to each; none if it has no tables
/// yet, or is one that nobody shares.
///
/// # Errors
/// When the database cannot be reached or used, or this machine's clock is off.
pub async fn neighbours(settings: &Settings) -> Result<Option<Neighbours>> {
    if !super::is_begun(settings).await? {
        return Ok(None);
    }
    let store = super::open_database(settings).await?;
    let Some(nodes) = store.nodes() else { return Ok(None) };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let dispatch = settings.dispatch.by;
    let visitor = MeshSettings { role: NodeRole::Api, dispatch, version, listen: None, address: None };
    let mesh = Mesh::join(Arc::clone(&nodes), visitor, || SystemClock.now()).await?;
    let ahead = mesh.ahead(SystemClock.now()).unwrap_or_default();
    let others = mesh.others();
    let reached = futures::future::join_all(others.iter().map(|(other, _)| mesh.reach(other))).await;
    let _ = mesh.leave().await;
    let nodes = others.into_iter().zip(reached).map(|((other, _), reached)| Neighbour {
        id: other.id,
        role: other.info.role,
        version: other.info.version,
        draining: other.info.draining,
        address: other.info.listener.map(|listener| listener.address),
        reached,
    });
    Ok(Some(Neighbours { nodes: nodes.collect(), ahead }))
}
