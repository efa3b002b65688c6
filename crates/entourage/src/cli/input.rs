//! Reads lines that a user types.

use std::{
    io::{self, BufRead, IsTerminal, Read},
    path::PathBuf,
};

use tokio::sync::mpsc;

#[cfg(unix)]
use super::editor::{self, Editing};
use super::{
    out,
    text::{Text, text},
};

/// Whether a user can be asked, who sees the question and can type.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !is_in_background()
}

/// Reads the whole standard input, without the line break at its end.
pub(crate) fn whole() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(text)
}

/// Asks a user who can be asked whether to go on, which a line that begins with `y` does. Who cannot be asked wants it.
pub(crate) fn agrees(question: Text) -> bool {
    if !is_interactive() {
        return true;
    }
    out::aside(text![question, " [y/N] "]);
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && line.trim_start().starts_with(['y', 'Y'])
}

/// Whether the terminal's keys go to another program, and reading them would stop this one.
#[cfg(unix)]
pub(crate) fn is_in_background() -> bool {
    // A terminal that does not control this process has no foreground to report.
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|front| front != rustix::process::getpgrp())
}

#[cfg(not(unix))]
pub(crate) fn is_in_background() -> bool {
    false
}

/// Input, read by a thread of its own: when the process ends, a runtime would wait for a thread of its own
/// that is still reading.
pub(crate) struct Lines {
    lines: mpsc::Receiver<String>,
    #[cfg(unix)]
    editing: Option<Editing>,
}

impl Lines {
    /// Starts reading line by line.
    pub(crate) fn start() -> Self {
        let (sender, lines) = mpsc::channel(16);
        read(sender);
        Self {
            lines,
            #[cfg(unix)]
            editing: None,
        }
    }

    /// Starts reading with a line editor where the terminal supports it, otherwise line by line. With an
    /// editor, a text may have several lines.
    #[cfg(unix)]
    pub(crate) fn edited(history: PathBuf) -> Self {
        let (sender, lines) = mpsc::channel(16);
        let editing = editor::start(history, sender.clone());
        if editing.is_none() {
            read(sender);
        }
        Self { lines, editing }
    }

    #[cfg(not(unix))]
    pub(crate) fn edited(_: PathBuf) -> Self {
        Self::start()
    }

    /// Whether a line editor reads, which shows its own prompt and keeps output above it.
    pub(crate) fn is_edited(&self) -> bool {
        #[cfg(unix)]
        {
            self.editing.is_some()
        }
        #[cfg(not(unix))]
        {
            false
        }
    }

    /// The next text, without its line end; none after the last.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}

fn read(sender: mpsc::Sender<String>) {
    std::thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n') {
            let line = match line {
                Ok(line) => line,
                Err(error) => return out::note(format!("stdin cannot be read any more: {error}")),
            };
            // Bytes that are not text are replaced by signs: they must not end the input after them.
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line)).into_owned();
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
}
