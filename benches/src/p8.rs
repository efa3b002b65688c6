//! P8: the cost of a run after many earlier runs in the same database.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result};

use crate::{Benches, cpu, engine::Bed, model::Script, p1, report::Report, seed};

/// Runs in the small database.
const FEW: usize = 1_000;
/// Runs of one round; `FLIGHT` of them at once.
const RUNS: usize = 60;
const FLIGHT: usize = 8;
/// Rounds; each measures both databases.
const ROUNDS: usize = 10;
/// Items of each of the earlier runs.
const ITEMS: u64 = 4;

pub(crate) fn measure(benches: &Benches, many: usize, report: &mut Report) -> Result<()> {
    let bed = |runs| -> Result<Arc<Bed>> {
        let bed = benches.engine.block_on(async { Bed::start(&benches.model, Script::Calls) })?;
        let one = benches.engine.block_on(seed::talked(&**bed.engine.store(), ITEMS))?.id;
        seed::multiplied(&bed.database(), &one.to_string(), runs)?;
        Ok(Arc::new(bed))
    };
    let beds = [bed(FEW)?, bed(many)?];
    for (bed, runs) in beds.iter().zip([FEW, many]) {
        report.note("P8", format!("bytes of a database of {runs} runs"), size(&bed.database())?, "B");
    }
    let mut costs = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        for (bed, costs) in beds.iter().zip(&mut costs) {
            let cost = benches.engine.block_on(p1::each_of_engine(bed, RUNS, FLIGHT))?;
            // The first round warms up.
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let [few_cost, many_cost] = costs.map(cpu::least);
    report.note("P8", format!("CPU of a run, {FEW} runs in the database"), few_cost, "ms");
    report.note("P8", format!("CPU of a run, {many} runs in the database"), many_cost, "ms");
    report.target("P8", format!("{many} runs / {FEW} runs"), (many_cost / few_cost, "x"), 1.1, Some(1.0));
    for bed in beds {
        let bed = Arc::into_inner(bed).context("the engine is still in use")?;
        benches.engine.block_on(bed.end())?;
    }
    Ok(())
}

fn size(database: &Path) -> Result<f64> {
    Ok(std::fs::metadata(database)?.len() as f64)
}
