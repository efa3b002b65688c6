//! The CPU of an exploration with four agents below it, over five plain runs and the decisions that it takes: what the
//! tree, the withheld results and the join cost beside the work itself.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use entourage_engine::Kinds;
use entourage_store_sqlite::Durability;
use entourage_tools::builtin;
use entourage_types::{Kind, ProgramName};
use serde_json::json;

use crate::{
    Benches, cpu,
    engine::{Bed, kind},
    model::Script,
    p1::each,
    report::Report,
};

/// Rounds; each measures every kind.
const ROUNDS: usize = 12;
/// A plain agent; one that explores alone, with all decisions; and one with four below it.
const KINDS: [&str; 3] = ["plain", "alone", "four"];
/// How many agents explore below the last one.
const BELOW: f64 = 4.0;

pub(crate) fn measure(benches: &Benches, runs: usize, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async { start(benches) })?);
    let mut spent = KINDS.map(|_| Vec::new());
    for round in 0..=ROUNDS {
        for (name, spent) in KINDS.into_iter().zip(&mut spent) {
            let bed = Arc::clone(&bed);
            let asking = async move { each(runs, 1, || async { bed.run_of(name).await.map(drop) }).await };
            let millis = benches.engine.block_on(async { tokio::spawn(asking).await? })?;
            // The first round warms up.
            if round > 0 {
                spent.push(millis);
            }
        }
    }
    let [plain, alone, four] = spent.map(cpu::least);
    let floor = alone + BELOW * plain;
    report.note("explore", "engine, CPU of a plain run", plain, "ms");
    report.note("explore", "engine, CPU of its four decisions", alone - plain, "ms");
    report.note("explore", "engine, CPU of an exploration with four agents below", four, "ms");
    report.note("explore", "over five plain runs and its decisions", four / floor, "x");
    benches.engine.block_on(async { Arc::into_inner(bed).context("the engine is still in use")?.end().await })
}

fn start(benches: &Benches) -> Result<Bed> {
    let kinds = KINDS.into_iter().fold(Kinds::none(), |kinds, name| kinds.with(kind_of(name)));
    let tools = builtin(entourage_tools::Settings::default());
    Bed::furnished(&benches.model, Script::Explores, kinds, tools, (Durability::Normal, 64))
}

/// The kind of this name. Its prompts are the words by which the model's script knows what is to be decided.
fn kind_of(name: &str) -> Kind {
    let plain = kind(name, "ask_user");
    if name == "plain" {
        return plain;
    }
    let parts = if name == "four" { "Decide: four parts" } else { "Decide: no parts" };
    let settings = json!({
        "max_questions": 3, "max_subquestions": 4, "clarify": "Decide: ambiguous", "missing": "Decide: missing",
        "subquestions": parts, "summary": "Decide: the result"
    });
    let (peers, program) = (vec![name.to_owned()], ProgramName::new("explore"));
    Kind { peers, program, program_settings: Some(settings), ..plain }
}
