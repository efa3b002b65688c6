//! The lines at the bottom of the terminal that are drawn again and again.
//!
//! The cursor rests at the beginning of the line below them: what a person types, and the `^C` that
//! the terminal echoes, stands there and goes with them.

use std::{
    io::{self, Write},
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustyline::ExternalPrinter;

use super::text::Text;

/// What stands there now.
static SHOWN: Mutex<Vec<Text>> = Mutex::new(Vec::new());

/// What writes above a line editor, while there is one.
static EDITOR: Mutex<Option<Printer>> = Mutex::new(None);

/// Writes above a line editor.
pub(super) type Printer = Box<dyn ExternalPrinter + Send>;

/// The size of a terminal that does not say: lines and columns.
const USUAL: (usize, usize) = (24, 80);

/// Puts these lines where the last ones stood. Of those that find no room the first are left out: news
/// is at the end. Each is cut before the last column, where terminals differ in what comes next.
pub(crate) fn show(mut lines: Vec<Text>) {
    let (height, width) = size();
    let hidden = lines.len().saturating_sub(height.saturating_sub(2).max(1));
    lines.drain(..hidden);
    lines.iter_mut().for_each(|line| *line = line.cut(width.saturating_sub(1)));
    let mut shown = shown();
    if !(lines.is_empty() && shown.is_empty()) {
        draw(&format!("{}{}", up(&shown, width), drawn(&lines)));
    }
    *shown = lines;
}

/// A line was typed below the lines: the terminal has gone on by a row.
pub(crate) fn entered() {
    let mut shown = shown();
    if !shown.is_empty() {
        shown.push(Text::default());
    }
}

/// Has a line editor keep the bottom of the terminal, or no longer. Returns what wrote above the one before.
pub(super) fn edited(printer: Option<Printer>) -> Option<Printer> {
    mem::replace(&mut *EDITOR.lock().unwrap_or_else(PoisonError::into_inner), printer)
}

/// Writes a text above the lines that stand at the bottom, by `write` unless a line editor has it.
pub(crate) fn above(text: &Text, write: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
    if let Some(printer) = &mut *EDITOR.lock().unwrap_or_else(PoisonError::into_inner) {
        return printer.print(text.as_str().to_owned()).map_err(io::Error::other);
    }
    let write = || write(text.as_str().as_bytes());
    let shown = shown();
    if shown.is_empty() {
        return write();
    }
    draw(&format!("{}\x1b[J", up(&shown, columns())));
    let written = write();
    draw(&drawn(&shown));
    written
}

/// How many columns the terminal has.
pub(crate) fn columns() -> usize {
    size().1
}

fn shown() -> MutexGuard<'static, Vec<Text>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// To the beginning of the first line, from below the last. A terminal that has become narrower has
/// broken lines that were drawn when it was wider.
fn up(lines: &[Text], columns: usize) -> String {
    let rows: usize = lines.iter().map(|line| line.height(columns)).sum();
    // Zero would go up by one.
    if rows == 0 { "\r".to_owned() } else { format!("\r\x1b[{rows}A") }
}

/// The lines, and nothing below them.
fn drawn(lines: &[Text]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str("\x1b[2K");
        text.push_str(line.as_str());
        text.push('\n');
    }
    text.push_str("\x1b[J");
    text
}

fn draw(text: &str) {
    // In one piece, so that nothing flickers. A terminal that is gone needs no picture.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(unix)]
fn size() -> (usize, usize) {
    let given = rustix::termios::tcgetwinsize(io::stderr()).ok();
    given.map_or(USUAL, |size| {
        let or = |given: u16, usual| if given == 0 { usual } else { usize::from(given) };
        (or(size.ws_row, USUAL.0), or(size.ws_col, USUAL.1))
    })
}

#[cfg(not(unix))]
fn size() -> (usize, usize) {
    USUAL
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that a narrower terminal has broken are all gone over.
    #[test]
    fn lines_that_a_resize_broke_are_counted() {
        let lines = ["x".repeat(79), String::new(), "漢".repeat(30)].map(Text::from);
        assert_eq!(up(&lines, 80), "\r\x1b[3A");
        assert_eq!(up(&lines, 40), "\r\x1b[5A");
        // Fourteen of them and no half.
        assert_eq!(up(&["漢".repeat(29).into()], 29), "\r\x1b[3A");
        assert_eq!(up(&[], 40), "\r");
    }
}
