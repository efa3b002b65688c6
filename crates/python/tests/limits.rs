//! Each limit: what the code, or whoever runs it, is told.

use std::time::{Duration, Instant};

use entourage_python::{Error, Limits, Progress, Record, Script, run};

use crate::harness::*;

#[tokio::test]
async fn code_that_computes_too_long_is_told() {
    let limits = Limits { cpu: Duration::from_millis(200), ..Limits::default() };
    let error =
        confined_error("def f():\n  while True:\n    pass\ntry:\n  f()\nexcept Exception:\n  pass", limits)
            .await;
    assert_eq!(error.kind, "TimeoutError");
    assert_eq!(error.message, "the code computed for longer than 200ms");
    assert!(error.hint.is_some());
}

/// What code computes before it waits counts after it, whether it runs again from its top or goes on from a snapshot.
#[test]
fn time_is_counted_from_the_top_however_often_the_code_waited() {
    let mut script = Script::new("");
    let (mut loops, mut before) = (100_000, Duration::ZERO);
    // Work that takes a while on this machine.
    while before < Duration::from_millis(250) {
        script.code = format!("for i in range({loops}): pass\ntool('t')\nwhile True: pass");
        let began = Instant::now();
        blocked(run(&script, &Record::default(), None).unwrap());
        before = began.elapsed();
        loops *= 2;
    }
    let limit = before * 4;
    script.limits.cpu = limit;
    let Progress::Blocked { snapshot: Some(snapshot), .. } = run(&script, &Record::default(), None).unwrap()
    else {
        panic!("it has no snapshot");
    };
    let record = Record { calls: vec![tool("t")], outcomes: vec![(0, value("r"))] };
    let ends_after = |snapshot: Option<&[u8]>| {
        let began = Instant::now();
        let error = end_of(run(&script, &record, snapshot).unwrap()).error.unwrap();
        assert_eq!(error.kind, "TimeoutError");
        began.elapsed()
    };
    let (goes_on, again) = (ends_after(Some(&snapshot)), ends_after(None));
    // Alone, what follows the wait could take all of the limit.
    assert!(goes_on < limit, "{goes_on:?} of {limit:?}");
    assert!(again >= limit && again < limit + before / 2, "{again:?} of {limit:?}");
}

#[tokio::test]
async fn a_process_that_takes_too_long_is_killed() {
    let limits =
        Limits { cpu: Duration::from_secs(60), wall: Duration::from_millis(100), ..Limits::default() };
    let error = confined("while True: pass", limits).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { limit } if limit == Duration::from_millis(100)), "{error:?}");
}

#[tokio::test]
async fn memory_that_grows_is_an_error_of_python() {
    let limits = Limits { memory_bytes: 32 << 20, ..Limits::default() };
    for code in [
        "x = []\nwhile True:\n  x.append('a' * 1000 + str(len(x)))",
        "x = 'a'\nwhile True:\n  x += x",
        "x = [0] * 100_000_000",
        "x = 2 ** 100_000_000_000",
        "d = {}\ni = 0\nwhile True:\n  d[i] = [i]\n  i += 1",
    ] {
        let error = confined_error(code, limits.clone()).await;
        assert_eq!(error.kind, "MemoryError", "{code}");
        assert!(error.message.contains("33554432 bytes"), "{code}: {error:?}");
    }
}

#[tokio::test]
async fn memory_that_python_cannot_count_ends_the_process() {
    let limits = Limits { memory_bytes: 16 << 20, ..Limits::default() };
    // Made by one step of the interpreter each, in which it does not look.
    for code in ["('a,' * 5_000_000).split(',')", "import json\njson.dumps(['a' * 1_000_000] * 100)"] {
        let error = confined(code, limits.clone()).await.unwrap_err();
        let is_told = matches!(error, Error::OutOfMemory { limit_bytes } if limit_bytes == 16 << 20);
        assert!(is_told, "{code}: {error:?}");
    }
    // In these it does.
    for code in ["x = list(range(300_000_000))", "x = sorted(str(i) for i in range(100_000_000))"] {
        assert_eq!(confined_error(code, limits.clone()).await.kind, "MemoryError", "{code}");
    }
}

#[tokio::test]
async fn deep_recursion_is_an_error_of_python() {
    let error = confined_error("def f(n):\n  return f(n + 1)\nf(0)", Limits::default()).await;
    assert_eq!(error.kind, "RecursionError");
    assert!(error.hint.unwrap().contains("500"));
    assert!(error.traceback.contains("more calls"), "{}", error.traceback);
    assert!(error.traceback.len() < 2000);
    let caught = "def f(n):\n  return f(n + 1)\ntry:\n  f(0)\nexcept RecursionError:\n  print('caught')";
    let ended = end_of(confined(caught, Limits::default()).await.unwrap());
    assert_eq!(ended.stdout, "caught\n");
}

#[tokio::test]
async fn code_that_nests_too_deeply_is_refused() {
    let parentheses = format!("x = {}{}", "(".repeat(100_000), ")".repeat(100_000));
    let signs = format!("x = {}1", "-".repeat(200_000));
    let list = |then: &str| format!("x = []\nfor i in range(100000): x = [x]\n{then}");
    for (code, kind, says) in [
        (parentheses, "SyntaxError", "too deeply nested"),
        (signs, "SyntaxError", "too deeply nested"),
        (list("x == [x]"), "RecursionError", "recursion depth"),
        (list("tool('t', x=x)"), "ValueError", "nested deeper than 100"),
    ] {
        let error = confined_error(&code, Limits::default()).await;
        assert_eq!(error.kind, kind, "{error:?}");
        assert!(error.message.contains(says), "{error:?}");
    }
    // A value may be as deep, and what is shown of it is its beginning.
    let shown = end_of(confined(&list("print(x)\nx"), Limits::default()).await.unwrap());
    assert_eq!(shown.error, None);
    for text in [shown.stdout, shown.value.unwrap()] {
        assert!(text.starts_with("[[[[") && text.len() <= 64 << 10, "{}", text.len());
    }
}

#[test]
fn of_what_is_printed_the_beginning_is_kept() {
    let mut script = Script::new("print('ä' * 10)\nprint('b')\n'c' * 30");
    script.limits.output_bytes = 11;
    let ended = end_of(run(&script, &Default::default(), None).unwrap());
    assert_eq!(ended.stdout, "äääää");
    assert_eq!(ended.value.as_deref(), Some("'cccccccccc"));
    assert!(ended.truncated);
    let short = crate::harness::ended("print('a')");
    assert!(!short.truncated);
}

#[tokio::test]
async fn printing_without_end_is_bounded() {
    let limits = Limits { cpu: Duration::from_millis(500), ..Limits::default() };
    let ended = end_of(confined("while True: print('x' * 10000)", limits).await.unwrap());
    assert_eq!(ended.stdout.len(), 64 << 10);
    assert!(ended.truncated);
    assert_eq!(ended.error.unwrap().kind, "TimeoutError");
}

#[test]
fn more_calls_than_allowed_raise() {
    let mut script = Script::new(
        "n = 0\ntry:\n  while True:\n    fork('a')\n    n += 1\nexcept RuntimeError as e:\n  print(n, e)\nemit('b')",
    );
    script.limits.calls = 3;
    let ended = end_of(run(&script, &Default::default(), None).unwrap());
    assert_eq!(ended.stdout, "3 this code made more than 3 calls of fork, ask_user, emit and tool\n");
    let error = ended.error.unwrap();
    assert_eq!((error.kind.as_str(), error.line), ("RuntimeError", Some(8)));
    assert_eq!(ended.calls.len(), 3);
}

#[test]
fn what_is_asked_for_at_once_is_bounded() {
    let error = ended("for i in range(20):\n  fork('x' * 400_000)").error.unwrap();
    assert!(error.message.contains("without waiting"), "{error:?}");
}

#[test]
fn syntax_that_is_lacking_is_named() {
    for (code, says) in [
        ("def f():\n  yield 1", "yield"),
        ("class A(dict):\n  pass", "this Python does not have"),
        ("class E(Exception): pass", "this Python does not have"),
        ("x = 1\ndel x", "del"),
        ("match 1:\n  case 1: pass", "match"),
    ] {
        let error = ended(code).error.unwrap();
        assert_eq!(error.kind, "NotImplementedError", "{code}");
        assert!(error.message.contains(says), "{code}: {error:?}");
        assert!(error.line.is_some(), "{code}");
        assert!(error.hint.unwrap().contains("small Python"), "{code}");
    }
    let error = ended("x = 1\nimport numpy").error.unwrap();
    assert_eq!((error.kind.as_str(), error.line), ("ModuleNotFoundError", Some(2)));
    assert!(error.hint.unwrap().contains("itertools"));
    let error = ended("x = 1\ny = (2").error.unwrap();
    assert_eq!((error.kind.as_str(), error.line), ("SyntaxError", Some(2)), "{error:?}");
    assert!(error.traceback.contains("y = (2"), "{}", error.traceback);
}

#[test]
fn what_models_write_often_and_is_lacking_has_a_remedy() {
    for (code, remedy) in [
        ("list(map(fork, ['a']))", "in a loop or a comprehension"),
        ("sorted('ab', key=lambda x: tool(x))", "in a loop or a comprehension"),
        ("import asyncio\nasyncio.create_task(1)", "gather and run alone"),
        ("import asyncio\nawait asyncio.gather(return_exceptions=True)", "Catch errors"),
        ("await 1", "only where the code awaits it"),
        ("'%s' % 3", "f-strings"),
        ("import sys\nprint(1, file=sys.stderr)", "without file="),
        ("raise ValueError('a', 'b')", "takes one text"),
        ("unknown", "ask_user(text)"),
    ] {
        let error = ended(code).error.unwrap();
        assert!(!error.message.contains("monty"), "{code}: {error:?}");
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains(remedy)), "{code}: {error:?}");
    }
}
