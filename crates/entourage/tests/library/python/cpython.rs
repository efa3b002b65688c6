//! The same with CPython under bubblewrap, where both can be had.

use entourage::python::{Error, PythonTool, WorkerCommand};
use entourage::tools::{PythonInterpreter, PythonSettings};
use entourage_testkit::Story;

use super::{output, with_settings};

/// Settings with CPython, if it can be had; `BWRAP=1` demands it.
#[allow(clippy::print_stdout, reason = "whoever reads the log should know what was not shown")]
async fn cpython() -> Option<PythonSettings> {
    let python = std::env::var("CPYTHON").unwrap_or_else(|_| "/usr/bin/python3".to_owned());
    let interpreter = PythonInterpreter::Cpython;
    let settings = PythonSettings { interpreter, cpython: python.into(), ..PythonSettings::default() };
    let args = vec!["python-worker".into()];
    let command = WorkerCommand { program: env!("CARGO_BIN_EXE_entourage").into(), args };
    match PythonTool::workers(command, &settings).interpreter().await {
        Ok(_) => Some(settings),
        Err(error) if std::env::var_os("BWRAP").is_some() => panic!("{error}"),
        Err(Error::Unconfined { .. } | Error::NoPython { .. }) => {
            println!("not run: it needs bubblewrap and a CPython; BWRAP=1 demands them");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// S3-R065 to S3-R068 with CPython; they name the tests that run everywhere.
#[tokio::test(flavor = "multi_thread")]
async fn code_in_cpython_survives_a_crash_at_any_commit() {
    let Some(settings) = cpython().await else { return };
    let code = "
import statistics
a, b = fork('A'), fork('B')
emit('forked')
answer = ask_user('Which?')
[wait(b), answer, wait(a), statistics.mean([1, 3])]
";
    let message = format!("Run:{code}");
    let story = Story::new([&*message], move |_| with_settings("cpython", settings.clone())).any_order();
    let undisturbed = story.run(1, &[]).await;
    let said = undisturbed.transcripts[0].iter().find(|line| line.starts_with("output")).unwrap();
    assert_eq!(said, "output: ['did B', 'yes', 'did A', 2]");
    let points = story.survives([1], 25).await;
    assert!(points >= 12, "{points}");
}

/// S3-R069 with CPython.
#[tokio::test]
async fn errors_in_cpython_are_its_own() {
    let Some(settings) = cpython().await else { return };
    let world = with_settings("cpython-errors", settings).start().await;
    let said = output(&world, "x = 1\nx / 0").await;
    assert!(said.starts_with("output!:") && said.contains("ZeroDivisionError: division by zero"), "{said}");
    let said = output(&world, "class Agent: number = 7\nwait(Agent())").await;
    assert!(said.starts_with("output!:"), "{said}");
}
