//! P7: events over HTTP. A client that was disconnected catches up with ten thousand of them; a
//! thousand clients follow one tree while its agent works, and none of them misses an event.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use entourage_types::AgentId;
use futures::{StreamExt as _, future::try_join_all, stream::BoxStream};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::{Barrier, watch},
};

use crate::{Benches, engine::Bed, model::Script, report::Report, seed, served::Served};

/// Missed events.
const MISSED: u64 = 10_000;
/// How many times a client catches up with them; the 99th percentile counts.
const TIMES: usize = 200;
/// Clients that follow.
const FOLLOWERS: usize = 1_000;
/// Turns of the agent that they follow.
const TURNS: usize = 20;
/// How long a follower waits for published events before they count as lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// The bytes that end the catch-up.
const END: &[u8] = b"event: caught_up";
/// How many of the last bytes are searched for them.
const TAIL: usize = 128;

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async { Bed::start(&benches.model, Script::Text) })?);
    let served = benches.engine.block_on(Served::start(&bed))?;
    let address = served.address;
    caught_up(benches, &bed, address, report)?;
    followed(benches, &bed, address, report)?;
    served.stop();
    benches.engine.block_on(async { Arc::into_inner(bed).context("the engine is still in use")?.end().await })
}

fn caught_up(benches: &Benches, bed: &Bed, address: SocketAddr, report: &mut Report) -> Result<()> {
    let agent = benches.engine.block_on(seed::talked(&**bed.engine.store(), MISSED))?.id;
    let after = benches.engine.block_on(told(bed, agent))? - MISSED;
    let told = benches.floor.block_on(told_whole(address, agent, after))?;
    let floor = benches.engine.block_on(bare(told))?;
    let (mut times, mut floors) = (Vec::with_capacity(TIMES), Vec::with_capacity(TIMES));
    // Alternating, so that both see the same load of the machine. The first round warms up.
    for time in 0..=TIMES {
        for (at, times) in [(floor, &mut floors), (address, &mut times)] {
            let begun = Instant::now();
            let caught = benches.floor.block_on(async {
                let mut follower = Follower::open(at, agent, after).await?;
                follower.read_until(|follower| follower.caught_up).await?;
                anyhow::Ok(follower)
            })?;
            ensure!((caught.told, caught.astray) == (MISSED, 0), "{} events of {MISSED}", caught.told);
            if time > 0 {
                times.push(begun.elapsed().as_secs_f64() * 1000.0);
            }
        }
    }
    for times in [&mut times, &mut floors] {
        times.sort_by(f64::total_cmp);
    }
    let (middle, most) = (TIMES / 2, TIMES - 1 - TIMES / 100);
    report.note("P7", "catch-up with 10,000 events, in the middle", times[middle], "ms");
    report.note("P7", "a bare server's of the same bytes", floors[middle], "ms");
    report.target("P7", "catch-up with 10,000 events, all but a hundredth", (times[most], "ms"), 100.0, None);
    report.note("P7", "a bare server's of the same bytes, all but a hundredth", floors[most], "ms");
    Ok(())
}

/// Returns everything that a client receives when it catches up, as bytes.
async fn told_whole(address: SocketAddr, root: AgentId, after: u64) -> Result<Bytes> {
    let mut pieces = stream_of(address, root, after).await?;
    let mut whole = Vec::new();
    // The end is within the last few bytes.
    while !whole.ends_with(b"\n\n") || !tail(&whole).windows(END.len()).any(|bytes| bytes == END) {
        whole.extend_from_slice(&pieces.next().await.context("the stream has ended")??);
    }
    Ok(whole.into())
}

fn tail(whole: &[u8]) -> &[u8] {
    &whole[whole.len().saturating_sub(TAIL)..]
}

/// The floor: a server that sends only these bytes.
async fn bare(told: Bytes) -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let told = told.clone();
            tokio::spawn(async move {
                // The request arrives in one piece; its content is known.
                let _ = connection.read(&mut [0; 4096]).await?;
                let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                connection.write_all(head).await?;
                connection.write_all(&told).await
            });
        }
    });
    Ok(address)
}

fn followed(benches: &Benches, bed: &Arc<Bed>, address: SocketAddr, report: &mut Report) -> Result<()> {
    let agent = benches.engine.block_on(bed.run())?;
    let after = benches.engine.block_on(told(bed, agent))?;
    let (ready, end) = (Arc::new(Barrier::new(FOLLOWERS + 1)), watch::Sender::new(None));
    let followers: Vec<_> = (0..FOLLOWERS)
        .map(|_| {
            let (ready, mut end) = (Arc::clone(&ready), end.subscribe());
            async move {
                let mut follower = Follower::open(address, agent, after).await?;
                follower.read_until(|follower| follower.caught_up).await?;
                ready.wait().await;
                let following = async {
                    // Events are read as they arrive; the number of the last one is known only at
                    // the end.
                    let last = tokio::select! {
                        biased;
                        last = end.wait_for(Option::is_some) => *last?,
                        never = follower.read_until(|_| false) => return never,
                    };
                    follower.read_until(|follower| last.is_none_or(|last| follower.last >= last)).await
                };
                // Whatever is missing by then is lost.
                let _ = tokio::time::timeout(PATIENCE, following).await;
                anyhow::Ok((follower.told, follower.astray))
            }
        })
        .collect();
    let (driven, start) = (Arc::clone(bed), Arc::clone(&ready));
    let driver = benches.engine.spawn(async move {
        start.wait().await;
        let begun = Instant::now();
        for _ in 0..TURNS {
            driven.turn(agent).await?;
        }
        let last = told(&driven, agent).await?;
        end.send_replace(Some(last));
        anyhow::Ok((begun, last))
    });
    let seen = benches.floor.block_on(try_join_all(followers))?;
    let (begun, last) = benches.floor.block_on(driver)??;
    let seconds = begun.elapsed().as_secs_f64();
    let all: u64 = seen.iter().map(|(told, _)| told).sum();
    let wrong: u64 = seen.iter().map(|(told, astray)| (last - after).abs_diff(*told) + astray).sum();
    report.note("P7", "events told to 1,000 followers of one tree", all as f64, "");
    report.note("P7", "told in a second", all as f64 / seconds, "/s");
    report.target("P7", "of these lost, doubled or out of order", (wrong as f64, ""), 0.0, None);
    Ok(())
}

/// Returns the number of a tree's last event.
async fn told(bed: &Bed, root: AgentId) -> Result<u64> {
    Ok(bed.client().events(root, 0, u32::MAX).await?.last().context("a tree has events")?.seq)
}

/// Opens the stream of a tree's events, over a connection of its own.
async fn stream_of(
    address: SocketAddr,
    root: AgentId,
    after: u64,
) -> Result<BoxStream<'static, reqwest::Result<Bytes>>> {
    entourage_llm::install_tls();
    let http = reqwest::Client::builder().tls_certs_only([]).no_proxy().build()?;
    let url = format!("http://{address}/v1/agents/{root}/events?after={after}");
    Ok(http.get(url).send().await?.error_for_status()?.bytes_stream().boxed())
}

/// A client of a stream that verifies event numbers only.
struct Follower {
    pieces: BoxStream<'static, reqwest::Result<Bytes>>,
    line: Vec<u8>,
    last: u64,
    told: u64,
    astray: u64,
    caught_up: bool,
}

impl Follower {
    async fn open(address: SocketAddr, root: AgentId, after: u64) -> Result<Self> {
        let pieces = stream_of(address, root, after).await?;
        Ok(Self { pieces, line: Vec::new(), last: after, told: 0, astray: 0, caught_up: false })
    }

    /// Reads on until `enough` returns true. Dropping the future loses nothing.
    async fn read_until(&mut self, enough: impl Fn(&Self) -> bool) -> Result<()> {
        while !enough(self) {
            let piece = self.pieces.next().await.context("the stream has ended")??;
            for part in piece.split_inclusive(|byte| *byte == b'\n') {
                self.line.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    self.take_line()?;
                }
            }
        }
        Ok(())
    }

    fn take_line(&mut self) -> Result<()> {
        let line = std::str::from_utf8(&self.line)?.trim_end();
        if let Some(id) = line.strip_prefix("id:") {
            let number: u64 = id.trim().parse()?;
            self.astray += u64::from(number != self.last + 1);
            self.told += 1;
            self.last = number;
        } else if let Some(event) = line.strip_prefix("event:") {
            self.caught_up |= event.trim() == "caught_up";
        }
        self.line.clear();
        Ok(())
    }
}
