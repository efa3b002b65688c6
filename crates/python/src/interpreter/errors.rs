//! Errors of Python in the terms of the code's author.

use std::fmt::Write as _;

use monty_types::{ExcType, MontyException, StackFrame};

use super::output::head;
use crate::code::{AWAIT, plain};
use crate::progress::PythonError;
use crate::script::Script;

/// Frames of a traceback that are shown from its beginning, and from its end.
const FIRST_FRAMES: usize = 5;
const LAST_FRAMES: usize = 15;

/// Bytes of a message and of a line of code that are shown.
const MAX_MESSAGE: usize = 8 << 10;
const MAX_LINE: usize = 300;

/// What the interpreter says before the name of syntax that it lacks.
const LACKS: &str = "The monty syntax parser does not yet support ";

/// What the interpreter says before what it says of what it does not do.
const INTERNAL: &str = "Internal error in monty: ";

/// The modules that can be imported.
pub(crate) const MODULES: &str = "asyncio (gather, run), base64, binascii, collections, dataclasses, datetime (no clock), functools, \
                       itertools, json, math, pathlib (paths only), re, sys, typing, unicodedata";

/// Whether an error is a limit's, which a run on a faster machine would not have met.
pub(super) fn is_limit(error: &MontyException) -> bool {
    matches!(error.exc_type(), ExcType::TimeoutError | ExcType::MemoryError)
}

/// The error as the code's author is to read it. The interpreter has `lines_before` more lines than the author.
pub(super) fn explain(error: &MontyException, script: &Script, lines_before: u32) -> PythonError {
    let kind = error.exc_type().to_string();
    let raw = error.message().unwrap_or_default();
    let limits = &script.limits;
    let (message, hint) = match error.exc_type() {
        ExcType::TimeoutError if raw.starts_with("time limit exceeded") => (
            format!("the code computed for longer than {:?}", limits.cpu),
            Some("Do less in one go: fewer steps, smaller inputs, or forks that share the work.".to_owned()),
        ),
        ExcType::MemoryError => (
            format!("the code's objects take more than {} bytes", limits.memory_bytes),
            Some("Work on less at a time, and keep results short.".to_owned()),
        ),
        ExcType::RecursionError => (
            raw.to_owned(),
            Some(format!("Functions may call each other {} deep. Use a loop.", limits.recursion)),
        ),
        ExcType::ModuleNotFoundError | ExcType::ImportError => (
            raw.to_owned(),
            Some(format!(
                "fork, wait, ask_user, emit and tool are there without an import. Of the standard library there are: \
                 {MODULES}. There is no clock and no chance, since the code may run again: choose yourself."
            )),
        ),
        _ => match raw.strip_prefix(LACKS) {
            Some(what) => (format!("this Python does not have {what}"), Some(language())),
            None => {
                let message = raw.strip_prefix(INTERNAL).unwrap_or(raw);
                (message.to_owned(), hint(error.exc_type(), raw))
            }
        },
    };
    let message = plain(head(&message, MAX_MESSAGE));
    let frames: Vec<Frame> =
        error.traceback().iter().filter_map(|frame| Frame::of(frame, lines_before)).collect();
    PythonError {
        traceback: traceback(&frames, &kind, &message, &script.code),
        line: frames.last().map(|frame| frame.line),
        kind,
        message,
        hint,
    }
}

/// What errors of the interpreter say, and what to do instead: for what models write most.
const REMEDIES: &[(&str, &str)] = &[
    (
        "external function",
        "fork, wait, ask_user, emit and tool cannot be called from within map, filter, sorted, min, max or methods like \
         __repr__. Call them in a loop or a comprehension, and use the results there.",
    ),
    (
        "module 'asyncio' has no",
        "asyncio has gather and run alone. An awaitable is asked for when it is made, so \
         `await asyncio.gather(tool(...), wait(agent))` needs no tasks.",
    ),
    (
        "gather() does not yet support",
        "Catch errors in an async function of your own, and gather calls of that.",
    ),
    (
        "await",
        "wait, tool and ask_user give their result in place, and an awaitable only where the code awaits it: \
         `await tool(...)`, or `await asyncio.gather(tool(...), wait(agent))`.",
    ),
    ("for %: 'str'", "There is no formatting with %. Use f-strings or str.format."),
    ("print() 'file'", "What is printed goes to one output. Print without file=."),
    ("exceptions can only be called with", "An exception takes one text."),
];

fn hint(kind: ExcType, message: &str) -> Option<String> {
    let remedy = REMEDIES.iter().find(|(says, _)| message.contains(says)).map(|(_, remedy)| *remedy);
    match (kind, remedy) {
        (ExcType::TypeError | ExcType::AttributeError | ExcType::RuntimeError, remedy) => remedy.map(str::to_owned),
        (ExcType::NotImplementedError, remedy) => Some(remedy.map_or_else(language, str::to_owned)),
        (ExcType::NameError, _) => Some(
            "Beside Python's own functions there are fork(prompt, kind=None), wait(agent), ask_user(text), emit(text) and \
             tool(name, key=value). There is no eval, exec, input or __import__."
                .to_owned(),
        ),
        _ => None,
    }
}

fn language() -> String {
    "This is a small Python: functions, lambdas, async functions, comprehensions, try, with, f-strings, dataclasses, and \
     classes without base classes. It has no generators (yield), inheritance, property, staticmethod, classmethod, match, \
     del, async for or async with."
        .to_owned()
}

/// A call in a traceback.
struct Frame<'a> {
    line: u32,
    /// The function, `<module>`, or nothing where a line is no Python.
    within: Option<&'a str>,
}

impl<'a> Frame<'a> {
    /// The call in the code for one in the interpreter, unless it is not in the code.
    fn of(frame: &'a StackFrame, lines_before: u32) -> Option<Self> {
        let name = frame.frame_name.as_deref().unwrap_or("<module>");
        let line = frame.start.line.checked_sub(lines_before).filter(|line| *line > 0)?;
        (name != AWAIT).then_some(Self { line, within: (!frame.hide_frame_name).then_some(name) })
    }
}

/// Python's traceback, with the lines as they were written.
fn traceback(frames: &[Frame<'_>], kind: &str, message: &str, code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let mut text = String::new();
    if !frames.is_empty() {
        text.push_str("Traceback (most recent call last):\n");
    }
    let left_out = frames.len().saturating_sub(FIRST_FRAMES + LAST_FRAMES);
    for (place, frame) in frames.iter().enumerate() {
        if left_out > 0 && place == FIRST_FRAMES {
            let _ = writeln!(text, "  ... {left_out} more calls ...");
        }
        if (FIRST_FRAMES..FIRST_FRAMES + left_out).contains(&place) {
            continue;
        }
        let line = frame.line;
        let _ = write!(text, "  line {line}");
        if let Some(within) = frame.within {
            let _ = write!(text, ", in {within}");
        }
        text.push('\n');
        if let Some(source) = lines.get(line.saturating_sub(1) as usize) {
            let _ = writeln!(text, "    {}", head(source.trim(), MAX_LINE));
        }
    }
    match message {
        "" => text.push_str(kind),
        _ => {
            let _ = write!(text, "{kind}: {message}");
        }
    }
    text
}
