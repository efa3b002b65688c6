//! What a run, a turn and a delegation cost in countable units that other processes on the machine
//! cannot change: commits, statements, pages and bytes of the database's log, allocations, requests
//! to the model. One writer, seeded ids, a stopped clock, everything on one thread but the store's
//! own.
//!
//! `counts --check` compares them with `benches/counts.toml` and fails if one has grown by more
//! than a twentieth: make it cheaper, or record the new figure there and explain why.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use clap::{Parser, Subcommand};
use entourage_engine::{Clock, Kinds};
use entourage_store::{Commit, Committed, Layered, Store, StoreLayer};
use entourage_store_sqlite::{Durability, Settings, Statements};
use entourage_tools::{Toolbox, builtin};
use entourage_types::{AgentId, Time, seeded_ids};
use serde::Deserialize;
use tokio::runtime::{Builder, Runtime};

use crate::{
    engine::{Bed, KIND, LookUp, TOOL, kind},
    model::{self, Script, Server},
};

/// How many times each sort of work is done.
const TIMES: usize = 200;
/// How many of them use one log, which then stays below the size at which the store checkpoints it.
const BATCH: usize = 20;
/// How many measurements are made; the median counts.
const MEASUREMENTS: usize = 3;
/// The factor by which a figure may grow.
const GROWTH: f64 = 1.05;
/// Bytes of the log's header, and of a page in it.
const LOG_HEAD: u64 = 32;
const LOG_PAGE: u64 = 4096 + 24;

/// What a run, a turn and a delegation cost in countable units
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true)]
struct Cli {
    /// End with an error if a figure has grown by more than a twentieth
    #[arg(long)]
    check: bool,
    /// The recorded figures
    #[arg(long, default_value = "benches/counts.toml", value_name = "FILE")]
    recorded: PathBuf,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum What {
    #[command(hide = true)]
    Model,
}

/// The recorded figures: for each sort of work, what is counted and how many.
#[derive(Debug, Deserialize)]
struct Recorded {
    figures: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The counts of one piece of work, by what is counted.
type Counts = BTreeMap<&'static str, f64>;

/// The counters of the store.
#[derive(Clone, Default)]
struct Counters {
    commits: Arc<AtomicU64>,
    statements: Arc<AtomicU64>,
}

#[async_trait]
impl StoreLayer for Counters {
    async fn commit(
        &self,
        store: &Arc<dyn Store>,
        commit: Commit,
    ) -> Result<Committed, entourage_store::Error> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        store.commit(commit).await
    }
}

/// A stopped clock.
struct Still;

#[async_trait]
impl Clock for Still {
    fn now(&self) -> Time {
        // 2026-01-01T00:00:00Z
        Time::from_micros(1_767_225_600_000_000)
    }

    async fn sleep_until(&self, until: Time) {
        if until > self.now() {
            std::future::pending::<()>().await;
        }
    }
}

/// Counts, prints and compares. `allocations` returns the number of allocations so far.
///
/// # Errors
/// If the measured work fails, or the recorded figures cannot be read.
pub fn run(allocations: fn() -> usize) -> Result<ExitCode> {
    let cli = Cli::parse();
    if let Some(What::Model) = cli.what {
        Builder::new_multi_thread().enable_all().build()?.block_on(model::serve())?;
        return Ok(ExitCode::SUCCESS);
    }
    let server = Server::start()?;
    let mut measured = Vec::new();
    for seed in 0..MEASUREMENTS as u64 {
        let _seeded = seeded_ids(seed);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        measured.push(measure(&runtime, &server, allocations)?);
    }
    let text = std::fs::read_to_string(&cli.recorded)
        .with_context(|| format!("{} cannot be read", cli.recorded.display()))?;
    let recorded: Recorded = toml::from_str(&text)?;
    let (table, grown) = compared(&middle(&measured), &recorded);
    std::io::stdout().write_all(table.as_bytes())?;
    Ok(if cli.check && grown { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Measures each sort of work once.
fn measure(
    runtime: &Runtime,
    server: &Server,
    allocations: fn() -> usize,
) -> Result<BTreeMap<&'static str, Counts>> {
    let all = Counting { server, allocations };
    runtime.block_on(async {
        let (bed, counters) =
            all.bed(Script::Calls, Kinds::none().with(kind(KIND, TOOL)), Toolbox::new().with(LookUp))?;
        let run = all.each(&bed, &counters, || async { bed.run().await.map(drop) }).await?;
        bed.end().await?;
        let (bed, counters) =
            all.bed(Script::Text, Kinds::none().with(kind(KIND, TOOL)), Toolbox::new().with(LookUp))?;
        let agent: AgentId = bed.run().await?;
        let turn = all.each(&bed, &counters, || bed.turn(agent)).await?;
        bed.end().await?;
        let mut above = kind("above", "send_message");
        above.peers = vec!["below".to_owned()];
        let kinds = Kinds::none().with(above).with(kind("below", "send_message"));
        let tools = builtin(entourage_tools::Settings::default());
        let (bed, counters) = all.bed(Script::Delegates, kinds, tools)?;
        let with = all.each(&bed, &counters, || async { bed.run_of("above").await.map(drop) }).await?;
        let without = all.each(&bed, &counters, || async { bed.run_of("below").await.map(drop) }).await?;
        bed.end().await?;
        let delegation = with.into_iter().map(|(what, count)| (what, count - without[what])).collect();
        Ok([("run", run), ("turn", turn), ("delegation", delegation)].into())
    })
}

/// What the counts are read from.
struct Counting<'a> {
    server: &'a Server,
    allocations: fn() -> usize,
}

impl Counting<'_> {
    /// Starts an engine with a counting store.
    fn bed(&self, script: Script, kinds: Kinds, tools: Toolbox) -> Result<(Bed, Counters)> {
        let counters = Counters::default();
        let settings = Settings {
            durability: Durability::Normal,
            readers: 1,
            statements: Some(Statements::new({
                let count = Arc::clone(&counters.statements);
                move |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })),
            ..Settings::default()
        };
        let layer = |store| -> Arc<dyn Store> { Arc::new(Layered::new(Arc::new(store), counters.clone())) };
        let bed = Bed::placed(self.server, script, (kinds, tools), (settings, 1), layer, Arc::new(Still))?;
        Ok((bed, counters))
    }

    /// Returns the counts of one piece of work, averaged over many in sequence.
    async fn each<F: Future<Output = Result<()>>>(
        &self,
        bed: &Bed,
        counters: &Counters,
        work: impl Fn() -> F,
    ) -> Result<Counts> {
        // Warm-up: what is created only once does not count.
        work().await?;
        let asked = self.server.asked().await?;
        let mut counts = Counts::new();
        for _ in 0..TIMES / BATCH {
            let mut before = [0; 3];
            let now = || {
                let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
                [count(&counters.commits), count(&counters.statements), (self.allocations)() as u64]
            };
            let written = bed
                .written(async {
                    before = now();
                    for _ in 0..BATCH {
                        work().await?;
                    }
                    Ok(())
                })
                .await?;
            let after = now();
            let pages = written.saturating_sub(LOG_HEAD) / LOG_PAGE;
            let [commits, statements, allocations] = std::array::from_fn(|at| after[at] - before[at]);
            for (what, count) in [
                ("commits", commits),
                ("statements", statements),
                ("pages written", pages),
                ("bytes written", written),
                ("allocations", allocations),
            ] {
                *counts.entry(what).or_default() += count as f64 / TIMES as f64;
            }
        }
        let asked = self.server.asked().await? - asked;
        counts.insert("requests to the model", asked as f64 / TIMES as f64);
        Ok(counts)
    }
}

/// Returns the median measurement of each figure.
fn middle(measured: &[BTreeMap<&'static str, Counts>]) -> BTreeMap<&'static str, Counts> {
    let mut middle = measured.first().cloned().unwrap_or_default();
    for (work, counts) in &mut middle {
        for (what, count) in counts {
            *count = crate::cpu::median(measured.iter().map(|each| each[work][what]).collect());
        }
    }
    middle
}

/// Returns a table of the counts beside the recorded figures, and whether any has grown.
fn compared(counted: &BTreeMap<&'static str, Counts>, recorded: &Recorded) -> (String, bool) {
    let (mut table, mut grown) = (String::new(), false);
    for (work, counts) in counted {
        for (what, count) in counts {
            let before = recorded.figures.get(*work).and_then(|figures| figures.get(*what)).copied();
            let verdict = match before {
                Some(before) if *count > before * GROWTH => "GROWN",
                Some(before) if *count < before / GROWTH => "less; record it",
                Some(_) => "",
                None => "NOT RECORDED",
            };
            grown |= matches!(verdict, "GROWN" | "NOT RECORDED");
            let before = before.map_or_else(String::new, |before| before.to_string());
            // Writing to a string does not fail.
            let _ = writeln!(table, "{work:10} {what:22} {count:>12.1} {before:>12}  {verdict}");
        }
    }
    (table, grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(count: f64, figures: &str) -> (String, bool) {
        let counted = [("run", [("commits", count)].into())].into();
        compared(&counted, &toml::from_str(figures).unwrap())
    }

    #[test]
    fn a_count_that_grows_by_more_than_a_twentieth_fails() {
        let recorded = "[figures.run]\ncommits = 100";
        assert!(!verdict(105.0, recorded).1);
        assert!(verdict(105.1, recorded).1);
        assert!(verdict(9.0, "[figures]").1, "a figure that nobody recorded");
        let (table, grown) = verdict(90.0, recorded);
        assert!(!grown && table.contains("record it"), "{table}");
    }
}
