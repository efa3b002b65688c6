//! Code that is run again: the same calls, or how it differs.

use entourage_python::{Error, Progress, Record, Script, run};

use crate::harness::*;

#[test]
fn a_run_that_asks_for_something_else_says_where() {
    let record = Record { calls: vec![tool("a"), tool("b")], outcomes: vec![(0, value("1"))] };
    let progress = run(&Script::new("x = tool('a')\n\ny = tool('c')"), &record, None).unwrap();
    assert_eq!(
        progress,
        Progress::Diverged {
            number: 1,
            line: Some(3),
            expected: tool("b"),
            found: Some(tool("c")),
            error: None
        }
    );
}

#[test]
fn a_run_that_asks_for_less_says_so() {
    let record = Record { calls: vec![fork("a"), fork("b")], outcomes: vec![] };
    for (code, line) in [("fork('a')", None), ("wait(fork('a'))", Some(1)), ("fork('a')\n1 / 0", None)] {
        let progress = run(&Script::new(code), &record, None).unwrap();
        let Progress::Diverged { error, .. } = &progress else { panic!("{progress:?}") };
        let error = error.clone();
        let expected = Progress::Diverged { number: 1, line, expected: fork("b"), found: None, error };
        assert_eq!(progress, expected, "{code}");
    }
}

#[test]
fn a_record_that_contradicts_itself_is_an_error() {
    for outcomes in [vec![(1, value("a"))], vec![(0, value("a")), (0, value("b"))]] {
        let record = Record { calls: vec![tool("a")], outcomes };
        let error = run(&Script::new("tool('a')"), &record, None).unwrap_err();
        assert!(matches!(error, Error::Record(_)), "{error}");
    }
}

#[test]
fn everything_that_could_differ_between_runs_is_the_same_or_refused() {
    let code = "print(hash('a'), hash((1, 'b')), id([]), {'x', 'y', 'z'}, sorted({3, 1, 2}), object() if False else 0)\n\
                class A: pass\nprint(A(), id(A()), [A()])";
    assert_eq!(printed(code), printed(code));
    for (code, says) in [
        ("import datetime\ndatetime.datetime.now()", "no clock"),
        ("from datetime import date\ndate.today()", "no clock"),
        ("import random", "random"),
        ("import time", "time"),
        ("import uuid", "uuid"),
        ("import os\nos.urandom(3)", "urandom"),
    ] {
        let error = ended(code).error.unwrap();
        assert!(error.message.contains(says), "{code}: {error:?}");
    }
}

#[test]
fn a_call_takes_the_same_outcome_however_many_there_are() {
    let code = "a, b = fork('a'), fork('b')\nprint(wait(b))\nif wait(a) == 'x':\n  print(tool('t'))";
    let script = Script::new(code);
    let calls = vec![fork("a"), fork("b")];
    let with = |outcomes| run(&script, &Record { calls: calls.clone(), outcomes }, None).unwrap();
    assert_eq!(blocked(with(vec![(0, value("x"))])).1, [[1]]);
    let (new, awaits) = blocked(with(vec![(0, value("x")), (1, value("y"))]));
    assert_eq!((new, awaits), (vec![tool("t")], vec![vec![2]]));
}
