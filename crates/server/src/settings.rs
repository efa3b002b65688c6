//! What the server needs to know.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU64,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::{Auth, WebhookSender};

/// How a engine is served.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The address to listen at; any other than a loopback one needs `server.auth`.
    #[schemars(with = "String")]
    pub bind: SocketAddr,
    /// Who may come in: anyone on this machine, unless `[server.auth.jwt]` says how tokens are signed.
    pub auth: Auth,
    /// How many connections are served at once; as many as half of the files that the process may open,
    /// and 10,000 at most, unless given. Those without a request give way. Three quarters of them at most are
    /// those of one owner, those of one address that have shown no token yet, or streams.
    pub connections: Option<usize>,
    /// How many streams of events and answers that are waited for one owner may have open at once; never more
    /// than half of the connections.
    pub streams: usize,
    /// How long the head of a request may take to arrive, and how long a connection may have none; in
    /// seconds.
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u64")]
    pub header_timeout: Duration,
    /// How long the body of a request may take to arrive; in seconds.
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u64")]
    pub body_timeout: Duration,
    /// How long a client may take nothing of an answer that is there, or of a stream; in seconds. It can come
    /// back to a stream where it was.
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u64")]
    pub write_timeout: Duration,
    /// The largest request body that is taken, in bytes.
    pub body_limit: usize,
    /// How often a silent stream of events says that it is alive; in seconds.
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u64")]
    pub heartbeat: Duration,
    /// How long requests under way may take to end once the server shall stop; in seconds.
    #[serde(deserialize_with = "seconds_or_none")]
    #[schemars(with = "u64")]
    pub grace: Duration,
    /// Whether `/metrics` needs a token, where tokens are needed at all.
    pub metrics_need_token: bool,
    /// Who may tell the engine by webhooks, by name; nobody unless given.
    pub webhooks: BTreeMap<String, WebhookSender>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4180),
            auth: Auth::None,
            connections: None,
            streams: 64,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
            metrics_need_token: false,
            body_limit: 2 * 1024 * 1024,
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(10),
            webhooks: BTreeMap::new(),
        }
    }
}

/// Without any time nothing would ever be served, or sent without a pause.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    NonZeroU64::deserialize(deserializer).map(|seconds| Duration::from_secs(seconds.get()))
}

fn seconds_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}
