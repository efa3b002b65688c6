//! How a process is one of several that share a database.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use entourage_types::NodeRole;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

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
    /// The host and port at which the others reach it, as `node-1:4181`, if those differ from `listen`.
    #[serde(deserialize_with = "place_if_any")]
    #[schemars(with = "Option<String>")]
    pub address: Option<String>,
    /// Where a process that is only `worker` serves `/healthz`, `/readyz` and `/metrics`, without tokens, as `10.0.0.5:4183`:
    /// an address that only operators can reach. Nowhere by default; the others serve them with the API.
    pub probes: Option<SocketAddr>,
    /// Whether this process comes for one command: agents work here only while they work nowhere else, and the others are
    /// not to connect. The binary sets it.
    #[serde(skip)]
    pub visits: bool,
}

impl Default for Cluster {
    fn default() -> Self {
        let listen = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Self { role: NodeRole::default(), listen, address: None, probes: None, visits: false }
    }
}

fn place_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_place = text.rsplit_once(':').is_some_and(|(host, port)| {
        let is_host =
            !host.is_empty() && !host.contains(|sign: char| sign.is_whitespace() || "/@".contains(sign));
        is_host && port.parse::<u16>().is_ok_and(|port| port != 0)
    });
    if is_place {
        Ok(Some(text))
    } else {
        Err(D::Error::custom("this is no host with a port, as `node-1:4181`"))
    }
}
