//! Lines that a person types.

use std::{
    io::{self, BufRead, IsTerminal},
    path::PathBuf,
};

use tokio::sync::mpsc;

#[cfg(unix)]
use super::editor::{self, Editing};
use super::out;

/// Whether a person can be asked: one who sees the question and can type.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !is_in_background()
}

/// Whether the terminal's keys go to another program, and reading them would stop this one.
#[cfg(unix)]
pub(crate) fn is_in_background() -> bool {
    // A terminal that is not the process's own has no foreground to tell of.
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|front| front != rustix::process::getpgrp())
}

#[cfg(not(unix))]
pub(crate) fn is_in_background() -> bool {
    false
}

/// What is typed, read by a thread of its own: a runtime would wait for one of its own that is still
/// reading when the process shall end.
pub(crate) struct Lines {
    lines: mpsc::Receiver<String>,
    #[cfg(unix)]
    editing: Option<Editing>,
}

impl Lines {
    /// Begins to read line by line.
    pub(crate) fn start() -> Self {
        let (sender, lines) = mpsc::channel(16);
        read(sender);
        Self {
            lines,
            #[cfg(unix)]
            editing: None,
        }
    }

    /// Begins to read with a line editor where there is a terminal for it, else line by line. With an
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

    /// Whether a line editor reads, which shows its own prompt and keeps what is written above it.
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

    /// The next text, without its end; none when there will be no more.
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
            // What is no text is said with signs in its place: it must not end what comes after it.
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line)).into_owned();
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
}
