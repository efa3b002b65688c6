//! The lines at the bottom of the terminal that are drawn again and again.
//!
//! The cursor rests at the beginning of the line below them: what a person types, and the `^C` that
//! the terminal echoes, stands there and goes with them.

use std::{
    io::{self, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What stands there now.
static SHOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// How many lines a terminal has that does not say.
const USUAL_HEIGHT: usize = 24;

/// Puts these lines where the last ones stood; those that find no room are left out.
pub(crate) fn show(mut lines: Vec<String>) {
    lines.truncate(height().saturating_sub(2).max(1));
    let mut shown = shown();
    if !(lines.is_empty() && shown.is_empty()) {
        draw(&format!("{}{}", up(&shown), drawn(&lines)));
    }
    *shown = lines;
}

/// Writes something above the lines.
pub(crate) fn above<T>(write: impl FnOnce() -> T) -> T {
    let shown = shown();
    if shown.is_empty() {
        return write();
    }
    draw(&format!("{}\x1b[J", up(&shown)));
    let written = write();
    draw(&drawn(&shown));
    written
}

fn shown() -> MutexGuard<'static, Vec<String>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// To the beginning of the first line.
fn up(lines: &[String]) -> String {
    // Zero would go up by one.
    if lines.is_empty() { "\r".to_owned() } else { format!("\r\x1b[{}A", lines.len()) }
}

/// The lines, each cut by the terminal at its edge, and nothing below them.
fn drawn(lines: &[String]) -> String {
    let mut text = String::from("\x1b[?7l");
    for line in lines {
        text.push_str("\x1b[2K");
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("\x1b[J\x1b[?7h");
    text
}

fn draw(text: &str) {
    // In one piece, so that nothing flickers. A terminal that is gone needs no picture.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(unix)]
fn height() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    size.ok().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(USUAL_HEIGHT)
}

#[cfg(not(unix))]
fn height() -> usize {
    USUAL_HEIGHT
}
