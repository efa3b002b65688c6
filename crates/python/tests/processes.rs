//! The processes: whose they are, how many, when they end.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use entourage_python::{Error, Limits, Progress, Record, Script, Settings, Workers};

use crate::harness::*;

fn endless() -> Script {
    Script {
        limits: Limits { cpu: Duration::from_secs(100), wall: Duration::from_secs(100), ..Limits::default() },
        ..Script::new("while True: pass")
    }
}

async fn simple(workers: &Workers, owner: &str) {
    let progress = workers.run(owner, &Script::new("print(1)"), &Record::default(), None).await.unwrap();
    assert_eq!(end_of(progress).stdout, "1\n");
}

#[tokio::test]
async fn a_worker_does_what_running_here_does() {
    let workers = workers(Settings::default());
    for code in ["1 + 1", "tool('a')", "1 / 0", "h = [fork('a'), fork('b')]\nwait(h)", "x ="] {
        let script = Script::new(code);
        let here = entourage_python::run(&script, &Record::default(), None).unwrap();
        let there = workers.run("someone", &script, &Record::default(), None).await.unwrap();
        match (&here, &there) {
            (Progress::Blocked { snapshot: Some(_), .. }, Progress::Blocked { snapshot: Some(_), .. }) => {
                assert_eq!(blocked(here), blocked(there));
            }
            _ => assert_eq!(here, there),
        }
    }
}

#[tokio::test]
async fn a_worker_continues_from_a_snapshot() {
    let workers = workers(Settings::default());
    let script = Script::new("print('before')\nx = tool('a')\nprint(x)");
    let Progress::Blocked { snapshot, .. } =
        workers.run("o", &script, &Record::default(), None).await.unwrap()
    else {
        panic!()
    };
    let record = Record { calls: vec![tool("a")], outcomes: vec![(0, value("b"))] };
    let ended = end_of(workers.run("o", &script, &record, snapshot.as_deref()).await.unwrap());
    assert_eq!(ended.stdout, "before\nb\n");
}

#[tokio::test]
async fn a_process_is_kept_for_its_owner() {
    let workers = workers(Settings::default());
    simple(&workers, "a").await;
    let first = workers.processes();
    simple(&workers, "a").await;
    assert_eq!(workers.processes(), first);
    assert_eq!(first[0].owner, "a");
}

#[tokio::test]
async fn two_owners_never_share_a_process() {
    let workers = workers(Settings { kept: 2, ..Settings::default() });
    for owner in ["a", "b", "a", "c", "b", "a"] {
        let before = workers.processes();
        simple(&workers, owner).await;
        let after = workers.processes();
        assert!(after.len() <= 2);
        let ran = after.iter().find(|worker| worker.owner == owner).unwrap();
        for other in before.iter().filter(|worker| worker.owner != owner) {
            assert_ne!(other.id, ran.id);
        }
    }
}

#[tokio::test]
async fn a_process_that_ended_while_it_was_kept_is_replaced() {
    let workers = workers(Settings::default());
    simple(&workers, "a").await;
    let id = workers.processes()[0].id;
    let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until(|| !runs(id)).await;
    simple(&workers, "a").await;
    assert_ne!(workers.processes()[0].id, id);
}

#[tokio::test]
async fn a_dropped_run_kills_its_process() {
    let workers = std::sync::Arc::new(workers(Settings::default()));
    let run = tokio::spawn({
        let workers = std::sync::Arc::clone(&workers);
        async move { workers.run("a", &endless(), &Record::default(), None).await }
    });
    until(|| !workers.processes().is_empty()).await;
    let id = workers.processes()[0].id;
    assert!(runs(id));
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    assert!(workers.processes().is_empty());
    until(|| !runs(id)).await;
}

#[tokio::test]
async fn processes_end_with_their_workers_and_when_they_are_old() {
    let some = workers(Settings::default());
    simple(&some, "a").await;
    let id = some.processes()[0].id;
    drop(some);
    until(|| !runs(id)).await;
    let some = workers(Settings { kept_for: Duration::ZERO, ..Settings::default() });
    simple(&some, "a").await;
    until(|| some.processes().is_empty()).await;
}

#[tokio::test]
async fn a_process_ends_with_a_program_that_is_killed_whether_it_runs_code_or_is_kept() {
    for (code, is_endless) in [("while True: pass", true), ("1", false)] {
        let mut program = Command::new(example("parent"))
            .arg(worker().program)
            .arg(code)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let id = line.trim().parse().unwrap();
        assert!(runs(id));
        if is_endless {
            until(|| computes(id)).await;
        }
        program.kill().unwrap();
        program.wait().unwrap();
        let ends = until(|| !runs(id));
        tokio::time::timeout(Duration::from_secs(5), ends).await.expect("it outlives the program");
    }
}

#[tokio::test]
async fn a_process_that_something_else_kills_is_the_machines_fault() {
    let workers = std::sync::Arc::new(workers(Settings::default()));
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::TERM] {
        let run = tokio::spawn({
            let workers = std::sync::Arc::clone(&workers);
            async move { workers.run("a", &endless(), &Record::default(), None).await }
        });
        until(|| workers.processes().first().is_some_and(|worker| computes(worker.id))).await;
        let id = workers.processes()[0].id;
        let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let error = run.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Killed { signal: of } if of == signal.as_raw()), "{error:?}");
        assert!(error.is_of_machine());
        until(|| workers.processes().is_empty()).await;
    }
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_an_error() {
    for (program, args) in [
        ("/bin/true", vec![]),
        ("/bin/echo", vec!["0123456789"]),
        ("/bin/sh", vec!["-c", "printf '\\377\\377\\377\\177\\000\\000\\000\\000'; cat"]),
        ("/bin/sh", vec!["-c", "printf '\\002\\000\\000\\000\\000\\000\\000\\000{}'; cat"]),
        ("/no/such/program", vec![]),
    ] {
        let command = entourage_python::WorkerCommand {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
        };
        let workers = Workers::new(command, Settings::default());
        let error = workers.run("a", &Script::new("1"), &Record::default(), None).await.unwrap_err();
        assert!(
            matches!(error, Error::Start { .. } | Error::Crashed { .. } | Error::Reply(_)),
            "{program}: {error:?}"
        );
        assert!(workers.processes().is_empty());
    }
}

#[tokio::test]
async fn a_record_that_contradicts_itself_is_an_error_there_too() {
    let record = Record { calls: vec![], outcomes: vec![(0, value("a"))] };
    let workers = workers(Settings::default());
    let error = workers.run("a", &Script::new("1"), &record, None).await.unwrap_err();
    assert!(matches!(error, Error::Record(_)), "{error:?}");
    simple(&workers, "a").await;
}

#[tokio::test]
async fn code_with_a_record_that_is_too_large_is_refused() {
    let record = Record { calls: vec![tool("a")], outcomes: vec![(0, value(&"x".repeat(65 << 20)))] };
    let error =
        workers(Settings::default()).run("a", &Script::new("tool('a')"), &record, None).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn what_the_code_came_to_is_refused_if_it_is_too_large() {
    let mut script = Script::new("print('\\0' * 6_000_000)");
    script.limits.output_bytes = 6_000_000;
    let workers = workers(Settings::default());
    let error = workers.run("a", &script, &Record::default(), None).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}
