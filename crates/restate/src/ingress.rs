//! What this node sends to Restate.

use std::{sync::Mutex, sync::PoisonError, time::Duration};

use entourage_engine::{Clock, dispatch::Outage};
use entourage_types::{AgentId, DatabaseId, Time, Wakeup, WakeupId};
use futures::{StreamExt, stream};
use reqwest::{Client, RequestBuilder, Response, redirect::Policy};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::sync::mpsc::Receiver;
use url::Url;

use crate::{
    Error, Result,
    agent::{Delivery, NAME, VERSION, key},
};

/// How many sends wait at most. What does not fit is found by the sweeper.
pub(crate) const QUEUE: usize = 4096;
/// How many are on their way at once.
const AT_ONCE: usize = 64;
/// How long Restate may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest words of a refusal.
const WORDS: usize = 300;

/// A wake-up that is handed over to Restate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handover {
    wakeup: WakeupId,
    agent: AgentId,
    due: Time,
    /// Restate takes each round of a wake-up only once, which includes those that it served long ago.
    round: u32,
}

impl Handover {
    pub(crate) fn new(wakeup: &Wakeup, round: u32) -> Self {
        Self { wakeup: wakeup.id, agent: wakeup.agent, due: wakeup.due, round }
    }

    /// What makes sending it twice harmless.
    fn key(&self) -> String {
        format!("{}/{}/{}", self.wakeup, self.due.micros(), self.round)
    }
}

/// What Restate says of itself.
#[derive(Deserialize)]
struct Health {
    /// The names of what is registered.
    services: Vec<String>,
}

/// Where Restate takes what is sent to it.
#[derive(Debug, Clone)]
pub(crate) struct Ingress {
    http: Client,
    url: Url,
    /// The database of the agents.
    pub(crate) database: Option<DatabaseId>,
}

impl Ingress {
    pub(crate) fn new(url: &Url) -> Result<Self> {
        Ok(Self { http: client(url)?, url: url.clone(), database: None })
    }

    /// Sends what comes from the queue, until the other end is dropped.
    pub(crate) async fn send_all(&self, queue: Receiver<Handover>, clock: &dyn Clock) {
        let outage = Mutex::new(Outage::new("Restate"));
        let queue = stream::unfold(queue, |mut queue| async { queue.recv().await.map(|next| (next, queue)) });
        let send = async |handover| {
            let sent = self.send(&handover, clock.now()).await;
            let mut outage = outage.lock().unwrap_or_else(PoisonError::into_inner);
            match sent {
                Ok(()) => outage.over(clock.now()),
                // The row stays, and the sweeper finds it.
                Err(error) => {
                    outage.met(&error.to_string(), clock.now());
                }
            }
        };
        queue.for_each_concurrent(AT_ONCE, send).await;
    }

    async fn send(&self, handover: &Handover, now: Time) -> Result<()> {
        let mut url = below(&self.url, &[NAME, &key(self.database, handover.agent), "advance", "send"])?;
        let delay = handover.due.since(now);
        if !delay.is_zero() {
            url.query_pairs_mut().append_pair("delay", &format!("{}ms", delay.as_millis() + 1));
        }
        let delivery = Delivery { version: VERSION, due: handover.due, examines: false };
        let request = self.http.post(url).header("idempotency-key", handover.key()).json(&delivery);
        accepted(request).await
    }

    /// Whether agents are registered.
    pub(crate) async fn is_registered(&self) -> Result<bool> {
        let asked = self.http.get(below(&self.url, &["restate", "health"])?);
        let health: Health = read(asked).await.map_err(as_ingress)?;
        Ok(health.services.iter().any(|name| name == NAME))
    }

    /// Has a node called for this key of an agent, and waits until it has answered, for so long at most.
    pub(crate) async fn examine(&self, key: &str, patience: Duration) -> Result<()> {
        let delivery = Delivery { version: VERSION, due: Time::from_micros(0), examines: true };
        let url = below(&self.url, &[NAME, key, "advance"])?;
        accepted(self.http.post(url).timeout(patience).json(&delivery)).await
    }
}

/// The error of a request to the ingress: the admin API has no such page.
fn as_ingress(error: Error) -> Error {
    match error {
        Error::Refused { status: 404, .. } => Error::OtherServer { server: "ingress", port: 8080 },
        other => other,
    }
}

/// The error of a request to the admin API: the ingress says who it is.
pub(crate) fn as_admin(error: Error) -> Error {
    match error {
        Error::Refused { cause, .. } if cause.contains(r#""source":"ingress""#) => {
            Error::OtherServer { server: "admin API", port: 9070 }
        }
        other => other,
    }
}

/// The URL of a place below another one.
pub(crate) fn below(url: &Url, path: &[&str]) -> Result<Url> {
    let mut below = url.clone();
    below.path_segments_mut().map_err(|()| Error::Url(url.to_string()))?.pop_if_empty().extend(path);
    Ok(below)
}

/// A client for one of Restate's servers. They stand in a private network, so that no proxy is asked.
pub(crate) fn client(url: &Url) -> Result<Client> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::Url(url.to_string()));
    }
    // An error means that another one was installed first, which is fine too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().redirect(Policy::none()).no_proxy().tcp_nodelay(true).timeout(PATIENCE);
    // The system's certificates are needed for TLS alone.
    let builder = if url.scheme() == "https" { builder } else { builder.tls_certs_only([]) };
    builder.build().map_err(Error::Client)
}

/// Sends a request, and expects that it is accepted.
pub(crate) async fn accepted(request: RequestBuilder) -> Result<()> {
    // Read to its end, so that the connection can be used again.
    succeeded(request).await?.bytes().await.map(drop).map_err(Error::Unreachable)
}

/// Sends a request, and reads the answer.
pub(crate) async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T> {
    succeeded(request).await?.json().await.map_err(Error::Foreign)
}

async fn succeeded(request: RequestBuilder) -> Result<Response> {
    let response = request.send().await.map_err(Error::Unreachable)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let words = response.text().await.map_err(Error::Unreachable)?;
    let cause = words.chars().take(WORDS).collect();
    Err(Error::Refused { status: status.as_u16(), cause })
}
