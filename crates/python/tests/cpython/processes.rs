//! CPython's processes: one for each run, which ends with it, with whoever asked for it, and with the program. And what
//! is said where there can be none.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use entourage_python::{CPython, Error, Interpreter, Limits, Record, Script};

use super::{cpython, of, printed, python, run};
use crate::harness::*;

/// The processes below one, however deep.
fn below(id: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let children = children.split_whitespace().map(|child| child.parse::<u32>().unwrap());
    children.flat_map(|child| std::iter::once(child).chain(below(child))).collect()
}

fn endless() -> Script {
    let limits =
        Limits { cpu: Duration::from_secs(100), wall: Duration::from_secs(100), ..Limits::default() };
    Script { limits, ..Script::new("while True: pass") }
}

/// Whether a process runs the interpreter: bubblewrap does before.
fn is_python(id: u32) -> bool {
    std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|program| {
        program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"))
    })
}

#[tokio::test]
async fn a_run_has_a_process_of_its_own() {
    let Some(workers) = cpython().await else { return };
    let interpreter = workers.interpreter().await.unwrap();
    assert!(matches!(&interpreter, Interpreter::CPython { version } if version.starts_with("3.")));
    assert!(interpreter.is_confined());
    assert_eq!(printed(&workers, "import sys\nsys.mark = 1\nopen('/tmp/x', 'w')\nprint(1)").await, "1\n");
    assert!(workers.processes().is_empty());
    assert_eq!(printed(&workers, "import sys\nprint(hasattr(sys, 'mark'))").await, "False\n");
}

#[tokio::test]
async fn a_dropped_run_ends_all_of_its_processes() {
    let Some(workers) = cpython().await else { return };
    let workers = std::sync::Arc::new(workers);
    let run = tokio::spawn({
        let workers = std::sync::Arc::clone(&workers);
        async move { workers.run("a", &endless(), &Record::default(), None).await }
    });
    let mut all = Vec::new();
    until(|| {
        let first = workers.processes().first().map(|worker| worker.id);
        all = first.into_iter().flat_map(|id| std::iter::once(id).chain(below(id))).collect();
        all.iter().any(|id| is_python(*id))
    })
    .await;
    assert!(all.len() >= 3, "{all:?}");
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    assert!(workers.processes().is_empty());
    until(|| !all.iter().any(|id| runs(*id))).await;
}

#[tokio::test]
async fn processes_end_with_the_one_between_however_that_ends() {
    let Some(workers) = cpython().await else { return };
    let workers = std::sync::Arc::new(workers);
    let run = tokio::spawn({
        let workers = std::sync::Arc::clone(&workers);
        async move { workers.run("a", &endless(), &Record::default(), None).await }
    });
    let mut all = Vec::new();
    until(|| {
        all = workers.processes().first().map(|worker| below(worker.id)).unwrap_or_default();
        all.iter().any(|id| is_python(*id))
    })
    .await;
    let between = i32::try_from(workers.processes()[0].id).unwrap();
    let between = rustix::process::Pid::from_raw(between).unwrap();
    rustix::process::kill_process(between, rustix::process::Signal::KILL).unwrap();
    assert!(run.await.unwrap().is_err());
    until(|| !all.iter().any(|id| runs(*id))).await;
}

#[tokio::test]
async fn processes_end_with_the_program_that_asked_for_them() {
    let Some(workers) = cpython().await else { return };
    let workers = std::sync::Arc::new(workers);
    let run = tokio::spawn({
        let workers = std::sync::Arc::clone(&workers);
        async move { workers.run("a", &endless(), &Record::default(), None).await }
    });
    let mut command = String::new();
    until(|| {
        let id = workers.processes().first().map(|worker| worker.id);
        let words = id.and_then(|id| std::fs::read_to_string(format!("/proc/{id}/cmdline")).ok());
        command = words.unwrap_or_default();
        command.contains("cpython:")
    })
    .await;
    run.abort();
    // The same command, started by this test: its input ends as it does when a program is killed.
    let mut between = Command::new(worker().program)
        .args(command.split_terminator('\0').skip(1))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 8];
    between.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let all = below(between.id());
    assert!(all.iter().any(|id| is_python(*id)), "{all:?}");
    drop(between.stdin.take());
    assert!(!between.wait().unwrap().success());
    until(|| !all.iter().any(|id| runs(*id))).await;
}

#[tokio::test]
async fn code_imports_the_operators_packages() {
    if cpython().await.is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("entourage-python-packages-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("greeting")).unwrap();
    std::fs::write(folder.join("greeting/__init__.py"), "def greet(name): return 'Hello ' + name").unwrap();
    let workers = of(CPython::new(python(), Some(folder.clone())));
    let said = printed(&workers, "import greeting\nprint(greeting.greet('you'))").await;
    let written = run(&workers, "open('/packages/x', 'w')", Limits::default()).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(said, "Hello you\n");
    assert!(end_of(written).error.unwrap().message.contains("Read-only"));
    let missing = of(CPython::new(python(), Some(folder.clone()))).interpreter().await.unwrap_err();
    assert!(missing.to_string().contains("is no directory"), "{missing}");
}

#[tokio::test]
async fn the_interpreter_of_a_virtual_environment_has_its_packages() {
    if cpython().await.is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("entourage-python-venv-{}", std::process::id()));
    let made = Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&folder).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let packages = std::fs::read_dir(folder.join("lib")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(packages.join("site-packages/greeting.py"), "text = 'Hello'").unwrap();
    let python = folder.join("bin/python3");
    let said = printed(&of(CPython::new(python, None)), "import greeting\nprint(greeting.text)").await;
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(said, "Hello\n");
}

#[tokio::test]
async fn where_it_cannot_be_had_an_error_says_what_to_do() {
    let with = |python: &str, bubblewrap: &Path| {
        of(CPython { bubblewrap: bubblewrap.to_owned(), ..CPython::new(python, None) })
    };
    let simple = Script::new("1");
    for bubblewrap in ["/no/such/bwrap", "no-such-bwrap"] {
        let workers = with(&python(), Path::new(bubblewrap));
        let error = workers.run("a", &simple, &Record::default(), None).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Unconfined { .. }), "{text}");
        assert!(
            text.contains("there is no program") && text.contains("install Debian's `bubblewrap`"),
            "{text}"
        );
    }
    if Path::new("/bin/sh").exists() && Path::new(&python()).exists() {
        // What bubblewrap says where it may not make a namespace.
        let folder = std::env::temp_dir().join(format!("entourage-python-bwrap-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let refusing = folder.join("bwrap");
        std::fs::write(
            &refusing,
            "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
        )
        .unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&refusing, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = with(&python(), &refusing).run("a", &simple, &Record::default(), None).await.unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
        let text = error.to_string();
        assert!(text.contains("No permissions to create new namespace; install"), "{text}");
    }
    let here = std::env::current_exe().unwrap();
    for (python, says) in [
        ("/no/such/python", "cannot be started"),
        ("/bin/false", "is no Python"),
        ("/bin/true", "is no Python"),
    ] {
        // Any program stands in for bubblewrap: it is not started.
        let error = with(python, &here).run("a", &simple, &Record::default(), None).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::NoPython { .. }) && text.contains(says), "{text}");
    }
}
