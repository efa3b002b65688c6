//! Why a node cannot be one of several.

use std::{io, net::SocketAddr, time::Duration};

use entourage_store::{LiveNode, NODE_LEASE};
use entourage_types::DispatchBy;

/// Why a node cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] entourage_store::Error),
    /// The address for the other nodes cannot be listened on.
    #[error("cannot listen on {address} for the other nodes: {cause}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The address that the other nodes are to use leads nowhere from another machine.
    #[error(
        "the other nodes cannot reach {address}: set `cluster.address` to the host and port at which they reach this node"
    )]
    Unreachable {
        /// The address.
        address: SocketAddr,
    },
    /// This machine's clock is not that of the store.
    #[error(
        "the clock of this machine is {} the database's, and all nodes must agree on the time to {} s: set it, for example with NTP",
        off(*.ahead),
        .most.as_secs()
    )]
    Clock {
        /// By how many microseconds it is ahead; less than zero if it is behind.
        ahead: i64,
        /// How much is allowed.
        most: Duration,
    },
    /// Another node is told otherwise which agents are due, so that an agent would work at two nodes at once.
    #[error(
        "`dispatch.by` is `{}` here, and not in another process that shares the database ({}): give all the same. One that \
         was killed counts for {} s more",
        .ours.name(),
        described(.other),
        NODE_LEASE.as_secs()
    )]
    Dispatch {
        /// What tells this node.
        ours: DispatchBy,
        /// The other node.
        other: Box<LiveNode>,
    },
    /// The operating system has no random numbers.
    #[error("there are no random numbers: {0}")]
    Random(String),
}

fn off(ahead: i64) -> String {
    let seconds = ahead.unsigned_abs() as f64 / 1e6;
    let way = if ahead < 0 { "behind" } else { "ahead of" };
    format!("{seconds:.1} s {way}")
}

/// How an operator finds a node.
fn described(LiveNode { id, info, .. }: &LiveNode) -> String {
    let at = info.listener.as_ref().map(|listener| format!(" at {}", listener.address)).unwrap_or_default();
    format!("{id}, role {}{at}", info.role.name())
}
