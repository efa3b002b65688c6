//! P1s: the run of P1 as a server's users have it: created over HTTP, followed as server-sent
//! events to its end, every commit on disk before the next step (`synchronous=FULL`).

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, Result, ensure};
use axum::{Router, body::Body, extract::State, routing::get};
use bytes::Bytes;
use entourage_engine::Kinds;
use entourage_store_sqlite::Durability;
use entourage_tools::Toolbox;
use futures::stream;
use serde_json::json;
use tokio::{net::TcpListener, sync::mpsc};

use crate::{
    Benches, cpu,
    engine::{Bed, KIND, LookUp, QUESTION, TOOL, kind},
    floor::{self, Http, Log, Rows, rows_of},
    model::Script,
    p1::{COMMITS, by_commit, each},
    report::Report,
    served::{Client, Seen, Served, follow},
};

/// Rounds; each measures both sides.
const ROUNDS: usize = 8;

pub(crate) fn measure(benches: &Benches, runs: usize, report: &mut Report) -> Result<()> {
    let (bed, served) = benches.engine.block_on(async {
        let bed = bed(benches)?;
        let served = Served::start(&bed).await?;
        anyhow::Ok((bed, served))
    })?;
    let client = Client::new(served.address)?;
    let first = benches.engine.block_on(client.run(Some(KIND)))?;
    let directory = tempfile::tempdir()?;
    let floor = benches.floor.block_on(async {
        let log = Log::open_durable(&directory.path().join("floor.db"))?;
        let rows = rows_of(&bed.database(), &first.agent)?;
        Floor::start(benches, log, rows, &first).await
    })?;
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let measured = [
            benches.floor.block_on(each(runs, 1, || floor.run()))?,
            benches.engine.block_on({
                let client = client.clone();
                async move {
                    tokio::spawn(async move {
                        each(runs, 1, || async { client.run(Some(KIND)).await.map(drop) }).await
                    })
                    .await?
                }
            })?,
        ];
        // The first round warms up.
        if round > 0 {
            floors.push(measured[0]);
            ours.push(measured[1]);
        }
    }
    let (floor, ours) = (cpu::least(floors), cpu::least(ours));
    report.note("P1s", "durable floor at FULL with a bare server, CPU per run", floor, "ms");
    report.note("P1s", "served, followed to its end, CPU per run", ours, "ms");
    report.target("P1s", "served / durable floor with a bare server", (ours / floor, "x"), 3.0, Some(2.0));
    served.stop();
    benches.engine.block_on(bed.end())
}

fn bed(benches: &Benches) -> Result<Bed> {
    let kinds = Kinds::none().with(kind(KIND, TOOL));
    let tools = Toolbox::new().with(LookUp);
    Bed::furnished(&benches.model, Script::Calls, kinds, tools, (Durability::Full, 64))
}

/// The floor: the same requests to the model, the same rows, and a server that sends the same bytes
/// after each commit.
struct Floor {
    http: Http,
    log: Log,
    requests: Vec<Bytes>,
    rows: Rows,
    told: Vec<Bytes>,
    client: reqwest::Client,
    address: SocketAddr,
    streams: Streams,
}

/// The source of the next stream.
type Streams = Arc<Mutex<Option<mpsc::UnboundedReceiver<Bytes>>>>;

impl Floor {
    async fn start(benches: &Benches, log: Log, rows: Rows, seen: &Seen) -> Result<Self> {
        let requests = benches.model.sent(4).await?;
        let whole = seen.pieces.concat();
        ensure!(!whole.is_empty() && !rows.is_empty(), "a run leaves rows and tells events");
        // One piece for each commit.
        let told = whole.chunks(whole.len().div_ceil(COMMITS)).map(Bytes::copy_from_slice).collect();
        let (streams, made) = (Streams::default(), seen.made.clone());
        let events = |State(streams): State<Streams>| async move {
            let next = streams.lock().unwrap_or_else(PoisonError::into_inner).take();
            let pieces = stream::unfold(next, |next| async move {
                let mut next = next?;
                next.recv().await.map(|piece| (Ok::<_, std::convert::Infallible>(piece), Some(next)))
            });
            ([("content-type", "text/event-stream")], Body::from_stream(pieces))
        };
        let make = move || {
            let made = made.clone();
            async move { ([("content-type", "application/json")], made) }
        };
        let routes = Router::new().route("/agents", get(events).post(make)).with_state(Arc::clone(&streams));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        tokio::spawn(axum::serve(listener, routes).into_future());
        let http = Http::new(benches.model.completions(Script::Calls))?;
        Ok(Self { http, log, requests, rows, told, client: floor::client()?, address, streams })
    }

    async fn run(&self) -> Result<()> {
        let url = format!("http://{}/agents", self.address);
        let new = json!({ "kind": KIND, "message": QUESTION });
        self.client.post(&url).json(&new).send().await?.error_for_status()?.bytes().await?;
        let (tell, told) = mpsc::unbounded_channel();
        *self.streams.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        let work = async {
            let mut commits = by_commit(&self.rows).zip(&self.told);
            let mut commit = || -> Result<()> {
                let Some((rows, piece)) = commits.next() else { return Ok(()) };
                self.log.append(rows)?;
                tell.send(piece.clone()).context("nobody follows")
            };
            commit()?;
            for (turn, body) in self.requests.iter().enumerate() {
                self.http.post(body.clone(), |_| ()).await?;
                commit()?;
                if turn + 1 < self.requests.len() {
                    commit()?;
                }
            }
            anyhow::Ok(())
        };
        let (worked, told) = tokio::join!(work, follow(&self.client, &url));
        worked?;
        told.map(drop)
    }
}
