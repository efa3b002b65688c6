//! P2: a thousand runs in flight with a model that takes 200 ms per call, every commit on disk
//! (`synchronous=FULL`): how many end per second, the latency added to the model's, and the memory.

use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use entourage_engine::Kinds;
use entourage_store_sqlite::Durability;
use entourage_tools::Toolbox;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::{
    Benches, cpu,
    engine::{Bed, KIND, LookUp, TOOL, kind},
    floor::{Grouped, Http, rows_of},
    model::{LATENCY, Script},
    report::Report,
};

/// Runs of one measurement; `FLIGHT` of them at once.
const RUNS: usize = 3000;
/// How many times they are measured.
const ROUNDS: usize = 3;
const FLIGHT: usize = 1000;
/// Model calls of a run.
const CALLS: u32 = 4;
/// The necessary commits of one run.
const COMMITS: usize = 8;

/// The results of many runs at once.
struct Flight {
    /// Runs per second.
    throughput: f64,
    /// The 99th percentile of the added latency in milliseconds.
    added: f64,
    /// CPU milliseconds per run.
    cpu: f64,
}

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async {
        let kinds = Kinds::none().with(kind(KIND, TOOL));
        let tools = Toolbox::new().with(LookUp);
        Bed::furnished(&benches.model, Script::Slow, kinds, tools, (Durability::Full, FLIGHT))
    })?);
    let agent = benches.engine.block_on(bed.run())?;
    let requests = Arc::new(benches.floor.block_on(benches.model.sent(CALLS as usize))?);
    let rows = Arc::new(rows_of(&bed.database(), &agent.to_string())?);

    // The engine first: memory left behind by the floors would otherwise count as the engine's.
    forget_peak()?;
    let engine = Arc::clone(&bed);
    let (cold, ours) = benches.engine.block_on(flights(move || {
        let bed = Arc::clone(&engine);
        async move { bed.run().await.map(drop) }
    }))?;
    let peak = peak()?;
    benches
        .engine
        .block_on(async { Arc::into_inner(bed).context("the engine is still in use")?.end().await })?;

    let http = Arc::new(Http::new(benches.model.completions(Script::Slow))?);
    let (_, bare) = {
        let (http, requests) = (Arc::clone(&http), Arc::clone(&requests));
        benches.floor.block_on(flights(move || {
            let (http, requests) = (Arc::clone(&http), Arc::clone(&requests));
            async move {
                for body in requests.iter() {
                    http.post(body.clone(), |_| ()).await?;
                }
                Ok(())
            }
        }))?
    };
    let directory = tempfile::tempdir()?;
    let log = Arc::new(Grouped::open(&directory.path().join("floor.db"))?);
    let (_, durable) = benches.floor.block_on(flights(move || {
        let (http, requests, rows, log) =
            (Arc::clone(&http), Arc::clone(&requests), Arc::clone(&rows), Arc::clone(&log));
        async move {
            let mut commits = rows.chunks(rows.len().div_ceil(COMMITS)).map(<[usize]>::to_vec);
            for (turn, body) in requests.iter().enumerate() {
                // Before each call, the message or an output; after it, the turn.
                log.append(commits.next().unwrap_or_default()).await?;
                http.post(body.clone(), |_| ()).await?;
                log.append(commits.next().unwrap_or_default())
                    .await
                    .with_context(|| format!("turn {turn}"))?;
            }
            Ok(())
        }
    }))?;

    report.note("P2", "bare HTTP floor, runs per second", bare.throughput, "");
    report.note("P2", "durable floor, grouped FULL commits, runs per second", durable.throughput, "");
    report.note("P2", "engine, runs per second", ours.throughput, "");
    let share = bare.throughput / ours.throughput;
    report.target("P2", "bare floor's throughput / engine's", (share, "x"), 1.0 / 0.3, Some(1.0 / 0.6));
    report.note("P2", "bare HTTP floor, added latency, p99", bare.added, "ms");
    report.note("P2", "durable floor, added latency, p99", durable.added, "ms");
    report.note("P2", "engine, added latency, p99", ours.added, "ms");
    report.note("P2", "engine, the first thousand after its start, p99", cold.added, "ms");
    report.note("P2", "engine, CPU of a run", ours.cpu, "ms");
    report.note("P2", "durable floor, CPU of a run", durable.cpu, "ms");
    report.target(
        "P2",
        "engine / durable floor, added latency, p99",
        (ours.added / durable.added, "x"),
        4.0,
        None,
    );
    report.target("P2", "engine, peak memory with 1,000 runs in flight", (peak, "MB"), 200.0, None);
    Ok(())
}

/// Measures one cold flight, all begun at once, while the gate opens to a new provider step by step
/// and connections are set up; then several more rounds, of which the best counts, because other
/// processes only add.
async fn flights<F: Future<Output = Result<()>> + Send + 'static>(
    run: impl Fn() -> F + Send + Sync + 'static,
) -> Result<(Flight, Flight)> {
    let run = Arc::new(run);
    let cold = flight(Arc::clone(&run), FLIGHT).await?;
    let mut best = Flight { throughput: 0.0, added: f64::INFINITY, cpu: f64::INFINITY };
    for _ in 0..ROUNDS {
        let next = flight(Arc::clone(&run), RUNS).await?;
        best = Flight {
            throughput: best.throughput.max(next.throughput),
            added: best.added.min(next.added),
            cpu: best.cpu.min(next.cpu),
        };
    }
    Ok((cold, best))
}

/// Measures this many runs, a thousand at once; fails if one does.
async fn flight<F: Future<Output = Result<()>> + Send + 'static>(
    run: Arc<impl Fn() -> F + Send + Sync + 'static>,
    runs: usize,
) -> Result<Flight> {
    // On the runtime's own threads, like requests over HTTP.
    tokio::spawn(async move {
        let taken = Mutex::new(Vec::with_capacity(runs));
        let (began, before) = (Instant::now(), cpu::used());
        stream::iter(0..runs)
            .map(|_| async {
                let asked = Instant::now();
                run().await?;
                taken.lock().unwrap_or_else(PoisonError::into_inner).push(asked.elapsed());
                anyhow::Ok(())
            })
            .buffer_unordered(FLIGHT)
            .try_collect::<()>()
            .await?;
        let throughput = runs as f64 / began.elapsed().as_secs_f64();
        let cpu = cpu::millis_each(before, runs);
        let mut taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        taken.sort();
        let p99 = taken.get(runs * 99 / 100).copied().unwrap_or(Duration::MAX);
        let added = p99.saturating_sub(LATENCY * CALLS).as_secs_f64() * 1000.0;
        Ok(Flight { throughput, added, cpu })
    })
    .await?
}

/// Resets the peak of this process's memory.
pub(crate) fn forget_peak() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("the peak of memory cannot be reset")
}

/// The peak of memory since the reset, in megabytes.
pub(crate) fn peak() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).context("no VmHWM is shown")?;
    Ok(kilobytes.parse::<f64>()? / 1024.0)
}
