//! Benchmarks as ratios to a floor, in one program.
//!
//! The floors do only the necessary work: the same requests over HTTP, the same rows into SQLite.
//! Both sides are measured alternately, in one process, against a model server in another. Each
//! target is a ratio, so that it holds on any machine.

mod console;
pub mod counts;
mod cpu;
mod engine;
mod explore;
mod floor;
mod goals;
mod hostile;
mod model;
mod p1;
mod p12;
mod p1s;
mod p2;
mod p3;
mod p4;
mod p5;
mod p6;
mod p7;
mod p8;
mod p8p;
mod p9;
mod python;
mod report;
mod seed;
mod served;

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};
use entourage_types::AgentId;
use tokio::runtime::{Builder, Runtime};

use model::Server;
use report::Report;

/// Benchmarks of the engine, as ratios to programs that do only the necessary work.
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    what: Option<What>,
    /// End with an error if a target is missed
    #[arg(long, global = true)]
    check: bool,
    /// JSON instead of a table
    #[arg(long, global = true)]
    json: bool,
    /// Runs in each round of P1 and P3; there are twelve rounds
    #[arg(long, global = true, default_value_t = 60, value_name = "N")]
    runs: usize,
    /// Suspended agents in the database of P5
    #[arg(long, global = true, default_value_t = 100_000, value_name = "N")]
    agents: usize,
    /// Runs in the large database of P8; a million take 2.5 GB
    #[arg(long, global = true, default_value_t = 1_000_000, value_name = "N")]
    history: usize,
    /// Closed sessions of the old goal of P10, which has given ten tasks in each
    #[arg(long, global = true, default_value_t = 1_000, value_name = "N")]
    sessions: usize,
    /// Closed sessions among which P10 searches
    #[arg(long, global = true, default_value_t = 100_000, value_name = "N")]
    archive: usize,
    /// Seconds for which the hostile owner attacks
    #[arg(long, global = true, default_value_t = 300, value_name = "N")]
    seconds: u64,
    /// The PostgreSQL server of P12
    #[arg(long, global = true, value_name = "URL")]
    postgres: Option<String>,
    /// The program of P5, P11 and P12
    #[arg(long, global = true, default_value = "target/release/entourage", value_name = "FILE")]
    binary: PathBuf,
}

#[derive(Debug, Clone, Subcommand)]
enum What {
    /// CPU of a durable run: four model calls, three tool calls
    P1,
    /// CPU of the same run over HTTP, followed to its end, every commit on disk
    P1s,
    /// A thousand runs in flight with a slow model: throughput, latency, memory
    P2,
    /// One delegation and back, and how the cost grows with depth
    P3,
    /// An exploration with four agents below it, over five plain runs and its decisions
    Explore,
    /// One more turn on a long transcript: CPU, and bytes written
    P4,
    /// Start to listening and idle memory, with and without suspended agents
    P5,
    /// Streaming: CPU per token, time to the first
    P6,
    /// Events over HTTP: catching up with ten thousand, a thousand followers
    P7,
    /// CPU of a run with few and with many runs in the database
    P8,
    /// What people read: first pages of lists with 100,000 agents in a tree, and news for a hundred
    P8p,
    /// The console's pages with 100,000 agents in a tree, and a hundred windows of a tree that works
    Console,
    /// Messages about a project of 50 documents: CPU, bytes written, and rows read
    P9,
    /// A goal with a year behind it, and the search over 100,000 closed sessions
    Goals,
    /// Python code of agents: a fork beside a delegation, processes, kept states
    Python,
    /// One, two and three processes that share a PostgreSQL: runs a second; by hand only
    P12,
    /// A hostile owner beside a working one: the latter's latency, and the memory; by hand only
    Hostile,
    /// Everything but what is by hand only (the default)
    All,
    /// The runs of P1 by the engine alone, for a profiler
    Profile,
    /// The turns of P4 by the engine alone, for a profiler
    ProfileTurns,
    /// A console for a browser, with 100,000 agents in a tree, some of which work after a line of input
    ServeConsole,
    #[command(hide = true)]
    Model,
    #[command(hide = true)]
    Windows { base: String, root: AgentId, count: usize },
}

/// The runtimes of both sides: the floors on one thread, the engine as its program runs it.
struct Benches {
    floor: Runtime,
    engine: Runtime,
    model: Server,
}

impl Benches {
    fn start() -> Result<Self> {
        Ok(Self {
            floor: Builder::new_current_thread().enable_all().build()?,
            engine: entourage::runtime()?,
            model: Server::start()?,
        })
    }
}

/// Runs the benchmarks' command line.
///
/// # Errors
/// If something that is measured fails.
pub fn run() -> Result<ExitCode> {
    let cli = Cli::parse();
    let what = cli.what.unwrap_or(What::All);
    entourage_llm::install_tls();
    // What is measured has processes beside it, whose CPU does not count.
    match &what {
        What::Model => return beside(model::serve()),
        What::Windows { base, root, count } => return beside(console::stay(base, *root, *count)),
        _ => {}
    }
    let benches = Benches::start()?;
    let mut report = Report::default();
    match what {
        What::P1 => p1::measure(&benches, cli.runs, &mut report)?,
        What::P1s => p1s::measure(&benches, cli.runs, &mut report)?,
        What::P2 => p2::measure(&benches, &mut report)?,
        What::P3 => p3::measure(&benches, cli.runs, &mut report)?,
        What::Explore => explore::measure(&benches, cli.runs, &mut report)?,
        What::P4 => p4::measure(&benches, &mut report)?,
        What::P5 => p5::measure(&benches, &cli.binary, cli.agents, &mut report)?,
        What::P6 => p6::measure(&benches, &mut report)?,
        What::P7 => p7::measure(&benches, &mut report)?,
        What::P8 => p8::measure(&benches, cli.history, &mut report)?,
        What::P8p => p8p::measure(&benches, &mut report)?,
        What::Console => console::measure(&benches, &mut report)?,
        What::ServeConsole => return console::serve(&benches).map(|()| ExitCode::SUCCESS),
        What::P9 => p9::measure(&benches, &mut report)?,
        What::Goals => goals::measure(&benches, (cli.sessions, cli.archive), &mut report)?,
        What::Python => python::measure(&benches, &cli.binary, cli.runs, &mut report)?,
        What::P12 => p12::measure(&benches, &cli.binary, cli.postgres.as_deref(), &mut report)?,
        What::Hostile => hostile::measure(&benches, cli.seconds, &mut report)?,
        What::Profile => p1::engine_alone(&benches, cli.runs)?,
        What::ProfileTurns => p4::engine_alone(&benches)?,
        What::All | What::Model | What::Windows { .. } => {
            p1::measure(&benches, cli.runs, &mut report)?;
            p1s::measure(&benches, cli.runs, &mut report)?;
            p2::measure(&benches, &mut report)?;
            p3::measure(&benches, cli.runs, &mut report)?;
            explore::measure(&benches, cli.runs, &mut report)?;
            p4::measure(&benches, &mut report)?;
            p6::measure(&benches, &mut report)?;
            p7::measure(&benches, &mut report)?;
            p8::measure(&benches, cli.history, &mut report)?;
            p8p::measure(&benches, &mut report)?;
            console::measure(&benches, &mut report)?;
            p9::measure(&benches, &mut report)?;
            goals::measure(&benches, (cli.sessions, cli.archive), &mut report)?;
            python::measure(&benches, &cli.binary, cli.runs, &mut report)?;
            p5::measure(&benches, &cli.binary, cli.agents, &mut report)?;
        }
    }
    let shown = if cli.json { report.json()? } else { report.table() };
    std::io::stdout().write_all(shown.as_bytes())?;
    Ok(if cli.check && report.missed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs a process beside the one that measures.
fn beside(work: impl Future<Output = Result<()>>) -> Result<ExitCode> {
    Builder::new_multi_thread().enable_all().build()?.block_on(work)?;
    Ok(ExitCode::SUCCESS)
}
