//! A world for code: what it asks for is recorded, and answered as a test says. And what tests ask of processes.

use std::time::Duration;

use entourage_python::{
    Call, Ended, Error, Limits, Outcome, Progress, PythonError, Record, Script, Settings, WorkerCommand,
    Workers, run,
};

/// What came of code that nothing was recorded of before.
pub(crate) fn first(code: &str) -> Progress {
    run(&Script::new(code), &Record::default(), None).unwrap()
}

/// How code ended that asks for nothing.
pub(crate) fn ended(code: &str) -> Ended {
    end_of(first(code))
}

pub(crate) fn end_of(progress: Progress) -> Ended {
    match progress {
        Progress::Ended(ended) => ended,
        other => panic!("it did not end: {other:?}"),
    }
}

/// What code printed that ended without an error.
pub(crate) fn printed(code: &str) -> String {
    let ended = ended(code);
    assert_eq!(ended.error, None, "{ended:?}");
    ended.stdout
}

/// The new calls of code that cannot go on, and what it waits for.
pub(crate) fn blocked(progress: Progress) -> (Vec<Call>, Vec<Vec<u32>>) {
    match progress {
        Progress::Blocked { calls, awaits, .. } => (calls.into_iter().map(|new| new.call).collect(), awaits),
        other => panic!("it is not blocked: {other:?}"),
    }
}

/// An answer to each call that tells which call it was.
pub(crate) fn answer(call: &Call) -> Outcome {
    let text = match call {
        Call::Fork { prompt, .. } => format!("did {prompt}"),
        Call::AskUser { text } => format!("yes, {text}"),
        Call::Tool { name, arguments } => {
            // In the order of their names, whatever order this build keeps.
            let sorted: std::collections::BTreeMap<_, _> = arguments.iter().collect();
            format!("{name}{}", serde_json::to_string(&sorted).unwrap())
        }
        Call::Emit { .. } => unreachable!("nothing waits for this"),
    };
    Outcome::Value(text.into())
}

/// Runs code to its end, from its top each time, answering the first call that it waits for.
pub(crate) fn finished(code: &str) -> (Ended, Record) {
    finished_with(code, answer)
}

pub(crate) fn finished_with(code: &str, answer: impl Fn(&Call) -> Outcome) -> (Ended, Record) {
    let script = Script::new(code);
    let mut record = Record::default();
    loop {
        match run(&script, &record, None).unwrap() {
            Progress::Ended(ended) => {
                record.calls.extend(ended.calls.iter().map(|new| new.call.clone()));
                return (ended, record);
            }
            Progress::Blocked { calls, awaits, .. } => {
                record.calls.extend(calls.into_iter().map(|new| new.call));
                let number = awaits[0][0];
                let outcome = answer(&record.calls[number as usize]);
                record.outcomes.push((number, outcome));
            }
            diverged => panic!("{diverged:?}"),
        }
    }
}

pub(crate) fn fork(prompt: &str) -> Call {
    Call::Fork { prompt: prompt.into(), kind: None }
}

pub(crate) fn tool(name: &str) -> Call {
    Call::Tool { name: name.into(), arguments: serde_json::Map::new() }
}

pub(crate) fn ask(text: &str) -> Call {
    Call::AskUser { text: text.into() }
}

pub(crate) fn emit(text: &str) -> Call {
    Call::Emit { text: text.into() }
}

pub(crate) fn value(text: &str) -> Outcome {
    Outcome::Value(text.into())
}

/// A program of the examples, which cargo builds beside the tests.
pub(crate) fn example(name: &str) -> std::path::PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(program.exists(), "cargo build -p entourage-python --examples");
    program
}

/// The command of a process that runs code.
pub(crate) fn worker() -> WorkerCommand {
    WorkerCommand { program: example("worker"), args: Vec::new() }
}

pub(crate) fn workers(settings: Settings) -> Workers {
    Workers::new(worker(), settings)
}

/// What came of code in a process of its own, within these limits.
pub(crate) async fn confined(code: &str, limits: Limits) -> Result<Progress, Error> {
    let script = Script { limits, ..Script::new(code) };
    workers(Settings::default()).run("someone", &script, &Record::default(), None).await
}

/// The error of Python that ends code in a process of its own.
pub(crate) async fn confined_error(code: &str, limits: Limits) -> PythonError {
    end_of(confined(code, limits).await.unwrap()).error.unwrap()
}

/// Waits until something holds.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    let waited = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waited).await.expect("it never holds");
}

/// Whether a process runs: one that was killed may not have been waited for yet.
pub(crate) fn runs(id: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'),
        Err(_) => false,
    }
}

/// Whether a process has used so much processor time that it runs its code.
pub(crate) fn computes(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let ticks = stat.rsplit(')').next().unwrap().split_whitespace().nth(11);
    ticks.is_some_and(|ticks| ticks.parse::<u64>().unwrap() >= 10)
}
