//! Each limit of code in CPython: what the code, or whoever runs it, is told.

use std::time::Duration;

use entourage_python::{Error, Limits};

use super::{cpython, error_of, run};
use crate::harness::*;

#[tokio::test]
async fn code_that_computes_too_long_is_told() {
    let Some(workers) = cpython().await else { return };
    let limits = Limits { cpu: Duration::from_millis(200), ..Limits::default() };
    let code = "print('a')\ndef f():\n  while True:\n    pass\ntry:\n  f()\nexcept BaseException:\n  pass";
    let ended = end_of(run(&workers, code, limits).await.unwrap());
    let error = ended.error.unwrap();
    assert_eq!(error.kind, "TimeoutError");
    assert_eq!(error.message, "the code computed for longer than 200ms");
    assert!(error.hint.is_some());
    assert!(error.traceback.contains(", in f\n"), "{}", error.traceback);
    assert_eq!(ended.stdout, "a\n");
}

#[tokio::test]
async fn code_that_defies_its_time_is_ended() {
    let Some(workers) = cpython().await else { return };
    let limits = Limits { cpu: Duration::from_millis(100), ..Limits::default() };
    // Within one step of the interpreter, and with the signal turned off.
    for code in
        ["sum(range(10**12))", "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0)\nwhile True: pass"]
    {
        let error = run(&workers, code, limits.clone()).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { limit } if limit == limits.cpu), "{code}: {error:?}");
    }
    let limits = Limits { wall: Duration::from_millis(100), ..Limits::default() };
    let error = run(&workers, "import time\ntime.sleep(60)", limits).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { limit } if limit == Duration::from_millis(100)), "{error:?}");
    assert!(workers.processes().is_empty());
}

#[tokio::test]
async fn memory_is_bounded_wherever_it_comes_from() {
    let Some(workers) = cpython().await else { return };
    let limits = Limits { memory_bytes: 32 << 20, ..Limits::default() };
    for code in [
        "x = []\nwhile True:\n  x.append('a' * 1000 + str(len(x)))",
        "x = 'a'\nwhile True:\n  x += x",
        "x = [0] * 100_000_000",
        "d = {}\ni = 0\nwhile True:\n  d[i] = [i]\n  i += 1",
        "x = list(range(300_000_000))",
        "x = sorted(str(i) for i in range(100_000_000))",
        "import ctypes\nx = ctypes.create_string_buffer(1 << 30)",
    ] {
        let error = error_of(&workers, code, limits.clone()).await;
        assert_eq!(error.kind, "MemoryError", "{code}");
        assert_eq!(error.message, "the code's objects take more than 33554432 bytes", "{code}");
    }
    for code in ["import mmap\nmmap.mmap(-1, 1 << 30)", "import os\nos.memfd_create('x')"] {
        let error = error_of(&workers, code, limits.clone()).await;
        assert_eq!(error.kind, "PermissionError", "{code}: {error:?}");
    }
    // The stack, however its limit is set by the code.
    let stack = "import resource, sys\nprint(resource.getrlimit(resource.RLIMIT_STACK))\n\
                 resource.setrlimit(resource.RLIMIT_STACK, (1 << 40, 1 << 40))";
    let error = error_of(&workers, stack, limits.clone()).await;
    assert!(error.message.contains("not allowed to raise"), "{error:?}");
    let caught = "try:\n  x = bytes(1 << 30)\nexcept MemoryError:\n  print('caught')";
    assert_eq!(end_of(run(&workers, caught, limits).await.unwrap()).stdout, "caught\n");
}

#[tokio::test]
async fn deep_recursion_is_an_error_or_ends_the_process() {
    let Some(workers) = cpython().await else { return };
    let error = error_of(&workers, "def f(n):\n  return f(n + 1)\nf(0)", Limits::default()).await;
    assert_eq!(error.kind, "RecursionError");
    assert!(error.hint.unwrap().contains("loop"));
    assert!(error.traceback.contains("more calls") && error.traceback.len() < 2000, "{}", error.traceback);
    for code in [
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(n):\n  return f(n + 1)\nf(0)",
        "import sys\nsys.setrecursionlimit(10**9)\nx = []\nfor i in range(10**6): x = [x]\nrepr(x)",
        "eval('(' * 10_000 + ')' * 10_000)",
        "eval('-' * 100_000 + '1')",
    ] {
        match run(&workers, code, Limits::default()).await {
            Ok(progress) => {
                end_of(progress).error.unwrap_or_else(|| panic!("{code}"));
            }
            Err(Error::TooDeep | Error::OutOfMemory { .. } | Error::TimedOut { .. }) => {}
            // CPython itself gives up.
            Err(Error::Crashed { status, .. }) if status.contains("134") => {}
            Err(error) => panic!("{code}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn printing_without_end_is_bounded() {
    let Some(workers) = cpython().await else { return };
    let limits = Limits { cpu: Duration::from_millis(500), ..Limits::default() };
    for code in [
        "while True: print('x' * 10000)",
        "import sys\nwhile True: sys.stderr.write('x' * 10000)",
        "import sys\nwhile True: sys.stdout.buffer.write(b'x' * 10000)",
    ] {
        let ended = end_of(run(&workers, code, limits.clone()).await.unwrap());
        assert_eq!(ended.stdout.len(), 64 << 10, "{code}");
        assert!(ended.truncated);
        assert_eq!(ended.error.unwrap().kind, "TimeoutError");
    }
    let limits = Limits { output_bytes: 11, ..Limits::default() };
    let ended = end_of(run(&workers, "print('ä' * 10)\nprint('b')\n'c' * 30", limits).await.unwrap());
    assert_eq!((ended.stdout.as_str(), ended.value.as_deref()), ("äääää", Some("'cccccccccc")));
    assert!(ended.truncated);
    // Past Python, where nobody listens.
    let ended =
        run(&workers, "import os\nfor n in range(1000): os.write(1, bytes(10000))", Limits::default());
    assert_eq!(end_of(ended.await.unwrap()).stdout, "");
}

#[tokio::test]
async fn what_the_code_came_to_is_refused_if_it_is_too_large() {
    let Some(workers) = cpython().await else { return };
    let limits = Limits { output_bytes: 6_000_000, ..Limits::default() };
    let error = run(&workers, "print('\\0' * 6_000_000)", limits).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}
