//! P3: the CPU of one durable delegation: a message to a peer and its answer, two model calls. It
//! is the difference between a run with one more level and a run without.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use entourage_engine::Kinds;
use entourage_store_sqlite::Durability;
use entourage_tools::builtin;

use crate::{
    Benches, cpu,
    engine::{Bed, kind},
    model::Script,
    p1::each,
    report::Report,
};

/// Rounds; each measures every depth.
const ROUNDS: usize = 12;
/// The delegation depths of the runs.
const DEPTHS: [usize; 4] = [0, 1, 2, 4];

pub(crate) fn measure(benches: &Benches, runs: usize, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async { start(benches) })?);
    let mut spent = DEPTHS.map(|_| Vec::new());
    for round in 0..=ROUNDS {
        for (depth, spent) in DEPTHS.into_iter().zip(&mut spent) {
            let bed = Arc::clone(&bed);
            let name = name(depth);
            let asking = async move { each(runs, 1, || async { bed.run_of(&name).await.map(drop) }).await };
            let millis = benches.engine.block_on(async { tokio::spawn(asking).await? })?;
            // The first round warms up.
            if round > 0 {
                spent.push(millis);
            }
        }
    }
    let [none, one, two, four] = spent.map(cpu::least);
    report.note("P3", "engine, CPU of a run without delegation", none, "ms");
    report.target("P3", "engine, CPU of one delegation", (one - none, "ms"), 1.5, Some(0.5));
    report.note("P3", "engine, CPU of a delegation, of two in a row", (two - none) / 2.0, "ms");
    report.note("P3", "engine, CPU of a delegation, of four in a row", (four - none) / 4.0, "ms");
    benches.engine.block_on(async { Arc::into_inner(bed).context("the engine is still in use")?.end().await })
}

/// A chain of kinds: each may write to the one below it, the last to none.
fn start(benches: &Benches) -> Result<Bed> {
    let deepest = DEPTHS.into_iter().max().unwrap_or(0);
    let kinds = (0..=deepest).fold(Kinds::none(), |kinds, depth| {
        let mut kind = kind(&name(depth), "send_message");
        kind.peers = depth.checked_sub(1).map(name).into_iter().collect();
        kinds.with(kind)
    });
    let tools = builtin(entourage_tools::Settings::default());
    Bed::furnished(&benches.model, Script::Delegates, kinds, tools, (Durability::Normal, 64))
}

/// The kind whose runs delegate this deep.
fn name(depth: usize) -> String {
    format!("level{depth}")
}
