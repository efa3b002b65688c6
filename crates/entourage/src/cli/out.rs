//! Writes results to stdout, and everything else to stderr. A reader that closes the pipe causes no error.
//! All output is a [`Text`], which holds nothing that acts on a terminal, except a document for another program.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::{
    failure::Failure,
    paint::Paint,
    screen,
    text::{self, Text, text},
};

/// Writes a result and a line end.
pub(crate) fn result(text: impl Into<Text>) -> Result<(), Failure> {
    piece(text![text, "\n"])
}

/// Writes a value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    result(text::json(&serde_json::to_string(value)?))
}

/// Writes a piece of a result, at once.
pub(crate) fn piece(text: impl Into<Text>) -> Result<(), Failure> {
    screen::above(&text.into(), write).map_err(unwritten)
}

/// Writes the text of a document: to another program byte for byte, on a terminal like any other text.
pub(crate) fn document(text: &str) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return write(text.as_bytes()).map_err(unwritten);
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    piece(text![text, end])
}

/// Writes a line of such a text, which on a terminal is shown as `painted` says.
pub(crate) fn document_line(line: &str, painted: impl FnOnce(&str) -> Text) -> Result<(), Failure> {
    if io::stdout().is_terminal() { piece(painted(line)) } else { document(line) }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

fn unwritten(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::unread(),
        _ => Failure::failed(format!("stdout cannot be written: {error}. Nothing else was lost")),
    }
}

/// Writes a line for the user.
pub(crate) fn note(line: impl Into<Text>) {
    aside(text![line, "\n"]);
}

/// Writes a text for the user, without a line end.
pub(crate) fn aside(text: impl Into<Text>) {
    let text = text.into();
    // If stderr fails, there is nowhere to report it.
    let _ = screen::above(&text, |text| io::stderr().lock().write_all(text));
}

/// The colours of stdout.
pub(crate) fn stdout() -> Paint {
    Paint::on(io::stdout().is_terminal())
}

/// The colours of stderr.
pub(crate) fn stderr() -> Paint {
    Paint::on(io::stderr().is_terminal())
}

/// The writer of the log, which gets one event at a time.
pub(crate) struct Log {
    /// Whether an event is JSON.
    pub(crate) json: bool,
}

impl Write for Log {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let written = String::from_utf8_lossy(event);
        let line = written.trim_end_matches('\n');
        // An event is one line: what it quotes cannot begin another.
        let line = if self.json { text::json(line) } else { line.replace('\n', "\\n") };
        aside(text![line, "\n"]);
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
