//! Writing: results on stdout, all else on stderr. Nothing here fails loudly: whoever stops
//! reading has had enough.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::{failure::Failure, paint::Paint, screen};

/// Writes a result, with a line's end.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    piece(&format!("{text}\n"))
}

/// Writes a value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    result(&serde_json::to_string(value)?)
}

/// Writes a piece of a result, at once.
pub(crate) fn piece(text: &str) -> Result<(), Failure> {
    let write = || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    };
    screen::above(write).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::unread(),
        _ => Failure::failed(format!("stdout cannot be written: {error}. Nothing else was lost")),
    })
}

/// Writes a line for a person.
pub(crate) fn note(line: &str) {
    aside(&format!("{line}\n"));
}

/// Writes a text for a person, as it is.
pub(crate) fn aside(text: &str) {
    // Nobody can be told that nobody can be told.
    let _ = screen::above(|| io::stderr().lock().write_all(text.as_bytes()));
}

/// How stdout is painted.
pub(crate) fn stdout() -> Paint {
    Paint::on(io::stdout().is_terminal())
}

/// How stderr is painted.
pub(crate) fn stderr() -> Paint {
    Paint::on(io::stderr().is_terminal())
}

/// Where the log goes.
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        screen::above(|| io::stderr().lock().write(text))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
