//! The settings of the server.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU64,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::{Auth, WebhookSender};

/// The settings of the server.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The address to listen at; any other than a loopback one needs `server.auth`.
    #[schemars(with = "String")]
    pub bind: SocketAddr,
    /// Who may use the server: anyone on this machine, unless `[server.auth.jwt]` says how tokens are signed.
    pub auth: Auth,
    /// How many connections are served at once: 10,000 by default, and never more than half of the files that
    /// the process may open. At the limit, connections without a request are closed. At most three quarters
    /// are for the requests of one owner, for the connections without a token of one address, and for
    /// streams.
    pub connections: Option<usize>,
    /// How many event streams and requests that wait for an answer of an agent one owner may have open at once;
    /// never more than half of the connections.
    pub streams: usize,
    /// How long the head of a request may take to arrive, and how long a connection may have no request; in
    /// seconds.
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u64")]
    pub header_timeout: Duration,
    /// How long the body of a request may take to arrive; in seconds.
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u64")]
    pub body_timeout: Duration,
    /// How long a client may read nothing of a response or a stream before it is disconnected; in seconds. It
    /// can resume a stream where it was.
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u64")]
    pub write_timeout: Duration,
    /// The largest request body that is accepted, in bytes.
    pub body_limit: usize,
    /// How often a silent event stream sends a heartbeat; in seconds.
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u64")]
    pub heartbeat: Duration,
    /// How long requests under way may take to end when the server stops; in seconds.
    #[serde(deserialize_with = "seconds_or_none")]
    #[schemars(with = "u64")]
    pub grace: Duration,
    /// Whether `/metrics` needs a token, if tokens are needed at all.
    pub metrics_need_token: bool,
    /// Whether anyone may register with an email address and a password, and log in: `POST /api/auth/register` and
    /// `POST /api/auth/login`. It needs `[server.auth.jwt]` with HS256, since the server signs the tokens.
    pub registration: bool,
    /// The senders whose webhooks are accepted, by name; none by default.
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
            registration: false,
            // A document of the longest kind, in which each character is written as an escape.
            body_limit: 4 * 1024 * 1024,
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(10),
            webhooks: BTreeMap::new(),
        }
    }
}

/// Reads a number of seconds that is not 0: a timeout of 0 would let nothing be served, a heartbeat of 0
/// would have no pause.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    NonZeroU64::deserialize(deserializer).map(|seconds| Duration::from_secs(seconds.get()))
}

fn seconds_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}
