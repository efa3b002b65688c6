//! P1: the CPU of a durable run with four model calls and three tool calls, every step committed.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::{
    Benches, cpu,
    engine::Bed,
    floor::{Http, Log, Rows, rows_of},
    model::Script,
    report::Report,
};

/// Rounds; each measures every side.
const ROUNDS: usize = 12;
/// The necessary commits of one run: the message, and one for each of seven steps.
pub(crate) const COMMITS: usize = 8;

/// The floor's run: the same requests, the same rows.
struct Floor {
    http: Http,
    log: Log,
    requests: Vec<Bytes>,
    rows: Rows,
}

impl Floor {
    async fn bare(&self) -> Result<()> {
        for body in &self.requests {
            self.http.post(body.clone(), |_| ()).await?;
        }
        Ok(())
    }

    async fn durable(&self) -> Result<()> {
        let mut commits = by_commit(&self.rows);
        let mut commit = || commits.next().map_or(Ok(()), |rows| self.log.append(rows));
        commit()?;
        for (turn, body) in self.requests.iter().enumerate() {
            self.http.post(body.clone(), |_| ()).await?;
            commit()?;
            if turn + 1 < self.requests.len() {
                commit()?;
            }
        }
        Ok(())
    }
}

/// The rows of a run, divided among its commits.
pub(crate) fn by_commit(rows: &Rows) -> impl Iterator<Item = &[usize]> {
    (0..COMMITS).map(|nth| &rows[rows.len() * nth / COMMITS..rows.len() * (nth + 1) / COMMITS])
}

pub(crate) fn measure(benches: &Benches, runs: usize, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async { Bed::start(&benches.model, Script::Calls) })?);
    let agent = benches.engine.block_on(bed.run())?;
    let directory = tempfile::tempdir()?;
    let floor = Floor {
        http: Http::new(benches.model.completions(Script::Calls))?,
        log: Log::open(&directory.path().join("floor.db"))?,
        requests: benches.floor.block_on(benches.model.sent(4))?,
        rows: rows_of(&bed.database(), &agent.to_string())?,
    };
    let bytes: usize = floor.rows.iter().sum();
    report.note("P1", "rows of one run", floor.rows.len() as f64, "");
    report.note("P1", "bytes in these rows", bytes as f64, "B");
    let written = benches.engine.block_on(bed.written(bed.run()))?;
    report.note("P1", "bytes that the engine writes for one run", written as f64, "B");
    for (flight, named) in [(1, "one at a time"), (8, "8 in flight")] {
        let (mut bare, mut durable, mut ours) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let measured = [
                benches.floor.block_on(each(runs, flight, || floor.bare()))?,
                benches.floor.block_on(each(runs, flight, || floor.durable()))?,
                benches.engine.block_on(each_of_engine(&bed, runs, flight))?,
            ];
            // The first round warms up.
            if round > 0 {
                bare.push(measured[0]);
                durable.push(measured[1]);
                ours.push(measured[2]);
            }
        }
        let (bare, durable, ours) = (cpu::least(bare), cpu::least(durable), cpu::least(ours));
        report.note("P1", format!("bare HTTP floor, CPU per run, {named}"), bare, "ms");
        report.note("P1", format!("durable floor, CPU per run, {named}"), durable, "ms");
        report.note("P1", format!("engine, CPU per run, {named}"), ours, "ms");
        report.target(
            "P1",
            format!("engine / durable floor, {named}"),
            (ours / durable, "x"),
            4.0,
            Some(2.0),
        );
    }
    benches.engine.block_on(ended(bed))
}

/// Runs the engine alone, so that a profiler sees nothing else.
pub(crate) fn engine_alone(benches: &Benches, runs: usize) -> Result<()> {
    benches.engine.block_on(async {
        let bed = Arc::new(Bed::start(&benches.model, Script::Calls)?);
        // Warm-up: creates what is created only once, such as the price table.
        bed.run().await?;
        let millis = each_of_engine(&bed, runs, 1).await?;
        let mut report = Report::default();
        report.note("P1", "engine, CPU per run, one at a time", millis, "ms");
        std::io::Write::write_all(&mut std::io::stderr(), report.table().as_bytes())?;
        ended(bed).await
    })
}

/// Measures runs of the engine. They are requested on its own threads, like requests over HTTP.
pub(crate) async fn each_of_engine(bed: &Arc<Bed>, runs: usize, flight: usize) -> Result<f64> {
    let bed = Arc::clone(bed);
    let asking = async move { each(runs, flight, || async { bed.run().await.map(drop) }).await };
    tokio::spawn(asking).await?
}

async fn ended(bed: Arc<Bed>) -> Result<()> {
    Arc::into_inner(bed).context("the engine is still in use")?.end().await
}

/// Returns the CPU milliseconds per run, with `flight` runs at once.
pub(crate) async fn each<F: Future<Output = Result<()>>>(
    runs: usize,
    flight: usize,
    run: impl Fn() -> F,
) -> Result<f64> {
    let before = cpu::used();
    stream::iter(0..runs).map(|_| Ok(run())).try_buffer_unordered(flight).try_collect::<()>().await?;
    Ok(cpu::millis_each(before, runs))
}
