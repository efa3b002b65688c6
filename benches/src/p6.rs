//! P6: streaming through the engine, with a subscriber for each stream.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use entourage_engine::{NewAgent, Piece, Signal};
use entourage_types::EventBody;
use futures::future::try_join_all;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::{
    Benches, cpu,
    engine::{Bed, KIND, QUESTION},
    floor::Http,
    model::{Script, TOKENS},
    report::Report,
};

/// Streams at once.
const STREAMS: usize = 50;
/// Rounds; each measures every side.
const ROUNDS: usize = 3;
/// Sequential streams, for the time to the first token.
const FIRSTS: usize = 20;

/// What one subscriber saw.
struct Seen {
    tokens: usize,
    first: Duration,
}

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async { Bed::start(&benches.model, Script::Tokens) })?);
    benches.engine.block_on(watched(Arc::clone(&bed)))?;
    let http = Http::new(benches.model.completions(Script::Tokens))?;
    let body = benches.floor.block_on(benches.model.sent(1))?.remove(0);
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let before = cpu::used();
        all(benches.floor.block_on(try_join_all((0..STREAMS).map(|_| read(&http, body.clone()))))?)?;
        let floor_each = cpu::millis_each(before, STREAMS * TOKENS) * 1000.0;
        let before = cpu::used();
        // On the engine's own threads, like subscribers over HTTP.
        let watching = benches.engine.spawn(try_join_all((0..STREAMS).map(|_| watched(Arc::clone(&bed)))));
        all(benches.engine.block_on(watching)??)?;
        let ours_each = cpu::millis_each(before, STREAMS * TOKENS) * 1000.0;
        // The first round warms up.
        if round > 0 {
            floor.push(floor_each);
            ours.push(ours_each);
        }
    }
    let (floor, ours) = (cpu::least(floor), cpu::least(ours));
    report.note("P6", "HTTP floor, CPU per token, 50 streams", floor, "us");
    report.note("P6", "engine, CPU per token, 50 streams", ours, "us");
    report.target("P6", "engine / HTTP floor, CPU per token", (ours / floor, "x"), 2.0, Some(1.3));
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..FIRSTS {
        floor.push(millis(benches.floor.block_on(read(&http, body.clone()))?.first));
        let watching = benches.engine.spawn(watched(Arc::clone(&bed)));
        ours.push(millis(benches.engine.block_on(watching)??.first));
    }
    let (floor, ours) = (cpu::median(floor), cpu::median(ours));
    report.note("P6", "HTTP floor, time to the first token", floor, "ms");
    report.target("P6", "engine, time added to the first token", (ours - floor, "ms"), 2.0, None);
    benches.engine.block_on(async { Arc::into_inner(bed).context("the engine is still in use")?.end().await })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn all(seen: Vec<Seen>) -> Result<()> {
    ensure!(seen.iter().all(|seen| seen.tokens == TOKENS), "a subscriber did not get every token");
    Ok(())
}

/// A run and its subscriber, from the request to the end of the run.
async fn watched(bed: Arc<Bed>) -> Result<Seen> {
    let begun = Instant::now();
    let client = bed.client();
    let new = NewAgent { kind: Some(KIND.into()), message: Some(QUESTION.into()), title: None, parent: None };
    let agent = client.create(new, None).await?.id;
    let mut watch = client.watch(agent, 0).await?;
    let mut seen = Seen { tokens: 0, first: Duration::MAX };
    loop {
        match watch.next().await? {
            Signal::Delta(delta) => {
                if let Piece::Text(_) = delta.piece {
                    seen.first = seen.first.min(begun.elapsed());
                    seen.tokens += 1;
                }
            }
            Signal::Event(event) => {
                if let EventBody::AgentStatus { status, .. } = event.body
                    && status.is_terminal()
                {
                    return Ok(seen);
                }
            }
            Signal::Inbox | Signal::CaughtUp(_) => {}
        }
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
}

/// Reads a stream and forwards it to a channel, without further work.
async fn read(http: &Http, body: Bytes) -> Result<Seen> {
    let begun = Instant::now();
    let (forward, mut tokens) = mpsc::unbounded_channel::<String>();
    let subscriber = async {
        let mut seen = Seen { tokens: 0, first: Duration::MAX };
        while tokens.recv().await.is_some() {
            seen.first = seen.first.min(begun.elapsed());
            seen.tokens += 1;
        }
        seen
    };
    let stream = async move {
        let mut rest = Vec::new();
        http.post(body, |piece| {
            rest.extend_from_slice(piece);
            let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            for line in rest[..whole].split(|byte| *byte == b'\n') {
                let chunk =
                    line.strip_prefix(b"data: ").and_then(|data| serde_json::from_slice::<Chunk>(data).ok());
                let text = chunk.and_then(|chunk| chunk.choices.into_iter().next()?.delta.content);
                if let Some(text) = text {
                    // The subscriber stays until the stream ends.
                    let _ = forward.send(text);
                }
            }
            rest.drain(..whole);
        })
        .await
    };
    let (streamed, seen) = tokio::join!(stream, subscriber);
    streamed.map(|()| seen)
}
