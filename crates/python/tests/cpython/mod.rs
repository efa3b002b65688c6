//! CPython under bubblewrap: the same meaning as in the built-in interpreter, and no way out.
//!
//! These tests need `bwrap` and a CPython. Without them they say so and pass, unless `BWRAP=1` demands them, as
//! `tests/services/bubblewrap.sh` does.

mod escapes;
mod limits;
mod parity;
mod processes;

use entourage_python::{CPython, Error, Limits, Progress, PythonError, Record, Script, Settings, Workers};

use crate::harness::{end_of, worker};

/// The interpreter that the tests run.
pub(crate) fn python() -> String {
    std::env::var("CPYTHON").unwrap_or_else(|_| "/usr/bin/python3".to_owned())
}

fn of(cpython: CPython) -> Workers {
    Workers::cpython(worker(), cpython, Settings::default())
}

/// CPython, if it can be had.
#[allow(clippy::print_stdout, reason = "whoever reads the log should know what was not shown")]
pub(crate) async fn cpython() -> Option<Workers> {
    let workers = of(CPython::new(python(), None));
    match workers.interpreter().await {
        Ok(_) => Some(workers),
        Err(error) if std::env::var_os("BWRAP").is_some() => panic!("{error}"),
        Err(Error::Unconfined { .. } | Error::NoPython { .. }) => {
            println!("not run: it needs bubblewrap and a CPython; BWRAP=1 demands them");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

async fn run(workers: &Workers, code: &str, limits: Limits) -> Result<Progress, Error> {
    let script = Script { limits, ..Script::new(code) };
    workers.run("someone", &script, &Record::default(), None).await
}

/// What code printed that ended without an error.
async fn printed(workers: &Workers, code: &str) -> String {
    let ended = end_of(run(workers, code, Limits::default()).await.unwrap());
    assert_eq!(ended.error, None, "{code}: {}", ended.stdout);
    ended.stdout
}

async fn error_of(workers: &Workers, code: &str, limits: Limits) -> PythonError {
    let ended = end_of(run(workers, code, limits).await.unwrap_or_else(|error| panic!("{code}: {error:?}")));
    ended.error.unwrap_or_else(|| panic!("{code}: {} {:?}", ended.stdout, ended.value))
}
