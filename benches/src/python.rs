//! P11: Python code of agents. An agent that is forked and waited for, beside one that is started by a message and waited
//! for: both are two model calls more than a plain run. And what a process and a kept state cost.

use std::{ffi::OsString, path::Path, sync::Arc, time::Instant};

use anyhow::{Context as _, Result, bail};
use entourage::python::{
    CPython, Progress, Record, Script as Code, Settings as Processes, WorkerCommand, Workers,
};
use entourage_engine::Kinds;
use entourage_store_sqlite::Durability;
use entourage_types::Kind;

use crate::{
    Benches, cpu,
    engine::{Bed, kind},
    model::Script,
    p1::each,
    report::Report,
};

/// Rounds; each measures every kind.
const ROUNDS: usize = 12;
/// A plain agent, one that sends a message to it, and one that forks.
const KINDS: [&str; 3] = ["plain", "sends", "forks"];
/// How many processes are started.
const STARTS: usize = 60;
/// How many lines a kept process runs, for what each of them costs it.
const LINES: usize = 2_000;
/// Code with a state of some hundred KiB.
const LARGE: &str = "state = {f'key {number}': number for number in range(15000)}\nask_user('Which?')";

pub(crate) fn measure(benches: &Benches, binary: &Path, runs: usize, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async { start(benches, binary) })?);
    let (mut spent, mut took) = (KINDS.map(|_| Vec::new()), KINDS.map(|_| Vec::new()));
    for round in 0..=ROUNDS {
        for (nth, name) in KINDS.into_iter().enumerate() {
            let bed = Arc::clone(&bed);
            let began = Instant::now();
            let asking = async move { each(runs, 1, || async { bed.run_of(name).await.map(drop) }).await };
            let millis = benches.engine.block_on(async { tokio::spawn(asking).await? })?;
            // The first round warms up.
            if round > 0 {
                spent[nth].push(millis);
                took[nth].push(began.elapsed().as_secs_f64() * 1000.0 / runs.max(1) as f64);
            }
        }
    }
    let ([plain, sends, forks], [alone, by_message, by_code]) = (spent.map(cpu::least), took.map(cpu::least));
    report.note("P11", "engine, CPU of one delegation", sends - plain, "ms");
    report.note(
        "P11",
        "engine, CPU of one fork and wait, without the process of the code",
        forks - plain,
        "ms",
    );
    report.note("P11", "a delegation, by the clock", by_message - alone, "ms");
    report.note("P11", "a fork and wait, by the clock", by_code - alone, "ms");
    benches.engine.block_on(async {
        Arc::into_inner(bed).context("the engine is still in use")?.end().await?;
        processes(binary, report).await
    })
}

fn words(binary: &Path) -> [OsString; 2] {
    [binary.into(), "python-worker".into()]
}

fn start(benches: &Benches, binary: &Path) -> Result<Bed> {
    let sends = Kind { peers: vec!["plain".to_owned()], ..kind("sends", "send_message") };
    let kinds = Kinds::none().with(kind("plain", "look_up")).with(sends).with(kind("forks", "python"));
    let tools = entourage::toolbox(entourage_tools::Settings::default(), Some(&words(binary)));
    Bed::furnished(&benches.model, Script::Forks, kinds, tools, (Durability::Normal, 64))
}

/// For how many milliseconds a process was on a processor, where the system tells.
fn on_processor(process: u32) -> Option<f64> {
    let told = std::fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
    Some(told.split_whitespace().next()?.parse::<f64>().ok()? / 1e6)
}

/// What it takes to run a line of code, in a new process and in one that is kept, and how large the state is.
async fn processes(binary: &Path, report: &mut Report) -> Result<()> {
    let [program, argument] = words(binary);
    let command = WorkerCommand { program: program.into(), args: vec![argument] };
    for (name, kept) in [("a line of code, in a new process", 0), ("a line of code, in a kept one", 4)] {
        let workers = Workers::new(command.clone(), Processes { kept, ..Processes::default() });
        let mut took = Vec::new();
        for _ in 0..STARTS {
            let began = Instant::now();
            workers.run("ada", &Code::new("1 + 1"), &Record::default(), None).await?;
            took.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        report.note("P11", name, cpu::median(took), "ms");
    }
    let workers = Workers::new(command.clone(), Processes::default());
    let line = async || workers.run("ada", &Code::new("1 + 1"), &Record::default(), None).await;
    line().await?;
    if let Some(kept) = workers.processes().first().map(|process| process.id)
        && let Some(before) = on_processor(kept)
    {
        for _ in 0..LINES {
            line().await?;
        }
        let millis = (on_processor(kept).context("the process ended")? - before) / LINES as f64;
        report.note("P11", "a line of code, CPU of the kept process", millis, "ms");
    }
    let cpython = CPython::new("/usr/bin/python3", None);
    let cpython = Workers::cpython(command.clone(), cpython, Processes::default());
    if cpython.interpreter().await.is_ok() {
        let mut took = Vec::new();
        for _ in 0..STARTS {
            let began = Instant::now();
            cpython.run("ada", &Code::new("1 + 1"), &Record::default(), None).await?;
            took.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        report.note("P11", "a line of code in CPython, in a new process", cpu::median(took), "ms");
    }
    let workers = Workers::new(command, Processes::default());
    for (name, code) in
        [("state of two forks", "wait([fork('a'), fork('b')])"), ("state of a large dictionary", LARGE)]
    {
        let ran = workers.run("ada", &Code::new(code), &Record::default(), None).await?;
        let Progress::Blocked { snapshot: Some(state), .. } = ran else { bail!("it does not wait: {ran:?}") };
        report.note("P11", name, state.len() as f64 / 1024.0, "KiB");
    }
    Ok(())
}
