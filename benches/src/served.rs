//! The server on a loopback port, and a client that creates agents there and follows them.

use std::net::SocketAddr;

use anyhow::{Result, bail};
use bytes::Bytes;
use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    engine::{Bed, QUESTION},
    floor,
};

/// What a stream of events contains when a run has succeeded.
const ENDED: &str = "\"status\":\"succeeded\"";

/// A running server.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
}

impl Served {
    /// Serves an engine. Called on the engine's runtime.
    pub(crate) async fn start(bed: &Bed) -> Result<Self> {
        let listener = entourage_server::bind(([127, 0, 0, 1], 0).into()).await?;
        let (address, stop) = (listener.local_addr()?, CancellationToken::new());
        let settings = entourage_server::Settings { streams: 2_000, ..Default::default() };
        tokio::spawn(entourage_server::serve(listener, bed.engine.clone(), settings, stop.clone()));
        Ok(Self { address, stop })
    }

    /// Stops the server.
    pub(crate) fn stop(self) {
        self.stop.cancel();
    }
}

/// A client of `/v1` that creates agents and follows each to its end.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    address: SocketAddr,
}

/// What a client received of one run.
pub(crate) struct Seen {
    pub(crate) agent: String,
    /// The response to the request that created the agent.
    pub(crate) made: Bytes,
    /// The pieces of the stream, as they arrived.
    pub(crate) pieces: Vec<Bytes>,
}

#[derive(Deserialize)]
struct Made {
    id: String,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Result<Self> {
        Ok(Self { http: floor::client()?, address })
    }

    /// Creates an agent, of a kind or of the default one, and follows it to its end.
    pub(crate) async fn run(&self, kind: Option<&str>) -> Result<Seen> {
        let url = format!("http://{}/v1/agents", self.address);
        let new = json!({ "kind": kind, "message": QUESTION });
        let made = self.http.post(&url).json(&new).send().await?.error_for_status()?.bytes().await?;
        let agent = serde_json::from_slice::<Made>(&made)?.id;
        let pieces = follow(&self.http, &format!("{url}/{agent}/events")).await?;
        Ok(Seen { agent, made, pieces })
    }
}

/// Reads a stream up to the end of the run.
pub(crate) async fn follow(http: &reqwest::Client, url: &str) -> Result<Vec<Bytes>> {
    let mut stream = http.get(url).send().await?.error_for_status()?.bytes_stream();
    let mut pieces: Vec<Bytes> = Vec::new();
    let mut line = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece?;
        pieces.push(piece.clone());
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                if std::str::from_utf8(&line)?.contains(ENDED) {
                    return Ok(pieces);
                }
                line.clear();
            }
        }
    }
    bail!("the stream ended before the run did")
}
