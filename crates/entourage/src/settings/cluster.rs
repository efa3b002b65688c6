//! How a process is one of several that share a database.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use entourage_types::NodeRole;
use schemars::JsonSchema;
use serde::Deserialize;

/// How this process is one of several that share a database; without effect unless `store.url` is set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cluster {
    /// What `entourage serve` does: `all`; `api` answers requests and leaves the agents to others; `worker` works for agents
    /// and answers no requests.
    #[schemars(with = "String")]
    pub role: NodeRole,
    /// Where it listens for the other processes, as `10.0.0.5:4181`: an address that only they can reach. By default on a
    /// free port of this machine, for processes of this machine.
    pub listen: SocketAddr,
    /// The host and port at which the others reach it, if those differ from `listen`.
    pub address: Option<String>,
    /// Whether this process comes for one command: agents work here only while they work nowhere else, and the others are
    /// not to connect. The binary sets it.
    #[serde(skip)]
    pub visits: bool,
}

impl Default for Cluster {
    fn default() -> Self {
        let listen = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Self { role: NodeRole::default(), listen, address: None, visits: false }
    }
}
