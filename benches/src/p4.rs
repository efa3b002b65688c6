//! P4: one more turn on a long transcript. Its CPU may grow with the size of the model request; the
//! bytes written must not grow.

use anyhow::Result;
use entourage_types::AgentId;

use crate::{Benches, cpu, engine::Bed, floor::Http, model::Script, report::Report, seed};

/// Items of the transcripts whose turns are measured.
const ITEMS: u64 = 1_000;
/// Turns of one round, each on a transcript of its own.
const TURNS: usize = 10;
/// Rounds; each measures every side.
const ROUNDS: usize = 8;
/// Turns whose bytes are averaged: those of a single turn depend on how full the pages happen to
/// be.
const WEIGHED_TURNS: u64 = 10;
/// Lengths of the transcripts whose next turns' bytes are measured.
const WEIGHED: [u64; 3] = [10, 1_000, 10_000];

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = benches.engine.block_on(async { Bed::start(&benches.model, Script::Text) })?;
    let warm = benches.engine.block_on(talked(&bed, ITEMS, TURNS))?;
    benches.engine.block_on(turns(&bed, &warm))?;
    let http = Http::new(benches.model.completions(Script::Text))?;
    let body = benches.floor.block_on(benches.model.sent(1))?.remove(0);
    report.note("P4", "bytes of the request", body.len() as f64, "B");
    let post = || async {
        for _ in 0..TURNS {
            http.post(body.clone(), |_| ()).await?;
        }
        anyhow::Ok(())
    };
    benches.floor.block_on(post())?;
    let (mut floor, mut first, mut next) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let before = cpu::used();
        benches.floor.block_on(post())?;
        floor.push(cpu::millis_each(before, TURNS));
        let agents = benches.engine.block_on(talked(&bed, ITEMS, TURNS))?;
        for measured in [&mut first, &mut next] {
            let before = cpu::used();
            benches.engine.block_on(turns(&bed, &agents))?;
            measured.push(cpu::millis_each(before, TURNS));
        }
    }
    let (floor, first, next) = (cpu::least(floor), cpu::least(first), cpu::least(next));
    report.note("P4", "HTTP floor, CPU of a turn on 1,000 items", floor, "ms");
    report.target("P4", "engine, CPU of a turn on 1,000 items", (next, "ms"), 3.0, Some(1.0));
    report.note("P4", "engine, its first turn since the start, which reads them back", first, "ms");
    report.note("P4", "engine / HTTP floor", next / floor, "x");
    let mut weights = Vec::new();
    for items in WEIGHED {
        let bytes = benches.engine.block_on(weigh(&bed, items))? as f64;
        report.note("P4", format!("bytes written by a turn on {items} items"), bytes, "B");
        weights.push(bytes);
    }
    // One more level of a B-tree may be touched; nothing proportional to the history.
    report.target("P4", "bytes written, 10,000 items / 10 items", (weights[2] / weights[0], "x"), 1.5, None);
    benches.engine.block_on(bed.end())
}

/// Runs the engine alone, so that a profiler sees nothing else.
pub(crate) fn engine_alone(benches: &Benches) -> Result<()> {
    benches.engine.block_on(async {
        let bed = Bed::start(&benches.model, Script::Text)?;
        let agents = talked(&bed, ITEMS, 1).await?;
        for _ in 0..300 {
            turns(&bed, &agents).await?;
        }
        bed.end().await
    })
}

async fn talked(bed: &Bed, items: u64, agents: usize) -> Result<Vec<AgentId>> {
    let mut made = Vec::with_capacity(agents);
    for _ in 0..agents {
        made.push(seed::talked(&**bed.engine.store(), items).await?.id);
    }
    Ok(made)
}

async fn turns(bed: &Bed, agents: &[AgentId]) -> Result<()> {
    for agent in agents {
        bed.turn(*agent).await?;
    }
    Ok(())
}

/// Returns the bytes that the next turn of a transcript writes.
async fn weigh(bed: &Bed, items: u64) -> Result<u64> {
    let agents = talked(bed, items, 1).await?;
    let written = async {
        for _ in 0..WEIGHED_TURNS {
            turns(bed, &agents).await?;
        }
        anyhow::Ok(())
    };
    Ok(bed.written(written).await? / WEIGHED_TURNS)
}
