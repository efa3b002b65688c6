//! What the server needs to know.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use serde::{Deserialize, Deserializer};

use crate::{Auth, WebhookSender};

/// How a house is served.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to listen; see [`bind`](crate::bind).
    pub bind: SocketAddr,
    /// Who may come in.
    pub auth: Auth,
    /// The largest request body that is taken, in bytes.
    pub body_limit: usize,
    /// How often a silent stream of events says that it is alive; in a file, seconds.
    #[serde(deserialize_with = "seconds")]
    pub heartbeat: Duration,
    /// How long requests under way may take to end once the server shall stop; in a file, seconds.
    #[serde(deserialize_with = "seconds")]
    pub grace: Duration,
    /// Who may tell the house by webhooks, by name; nobody unless given.
    pub webhooks: BTreeMap<String, WebhookSender>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4180),
            auth: Auth::None,
            body_limit: 2 * 1024 * 1024,
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(10),
            webhooks: BTreeMap::new(),
        }
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}
