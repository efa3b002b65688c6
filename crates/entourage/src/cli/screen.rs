//! Draws the lines at the bottom of the terminal that change continuously.
//!
//! The cursor rests at the beginning of the line below them: the user's input, and the `^C` that the terminal
//! echoes, appear there and are erased with them.

use std::{
    io::{self, Write},
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustyline::ExternalPrinter;

use super::text::Text;

/// The lines that are drawn now.
static SHOWN: Mutex<Vec<Text>> = Mutex::new(Vec::new());

/// The printer above a line editor, while there is one.
static EDITOR: Mutex<Option<Printer>> = Mutex::new(None);

/// A printer that writes above a line editor.
pub(super) type Printer = Box<dyn ExternalPrinter + Send>;

/// The size assumed for a terminal that does not report one: lines and columns.
const USUAL: (usize, usize) = (24, 80);

/// Replaces the drawn lines by these. If there is not enough room, the first are left out, because the news
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

/// Records that the user typed a line below the lines: the terminal has moved down by a row.
pub(crate) fn entered() {
    let mut shown = shown();
    if !shown.is_empty() {
        shown.push(Text::default());
    }
}

/// Gives the bottom of the terminal to a line editor, or takes it back. Returns the previous editor's
/// printer.
pub(super) fn edited(printer: Option<Printer>) -> Option<Printer> {
    mem::replace(&mut *EDITOR.lock().unwrap_or_else(PoisonError::into_inner), printer)
}

/// Writes a text above the lines at the bottom: with `write`, or through the line editor while there is one.
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

/// Moves the cursor from below the last line to the beginning of the first. A terminal that has become
/// narrower has wrapped lines that were drawn when it was wider.
fn up(lines: &[Text], columns: usize) -> String {
    let rows: usize = lines.iter().map(|line| line.height(columns)).sum();
    // Zero would move up by one.
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
    // In one piece, so that nothing flickers. A terminal that is gone needs no output.
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

    /// All rows of lines that a narrower terminal has wrapped are counted.
    #[test]
    fn the_cursor_moves_up_over_every_row_of_a_rewrapped_line() {
        let lines = ["x".repeat(79), String::new(), "漢".repeat(30)].map(Text::from);
        assert_eq!(up(&lines, 80), "\r\x1b[3A");
        assert_eq!(up(&lines, 40), "\r\x1b[5A");
        // Fourteen of them and no half.
        assert_eq!(up(&["漢".repeat(29).into()], 29), "\r\x1b[3A");
        assert_eq!(up(&[], 40), "\r");
    }
}
