//! Lines that a person types.

use std::io::{self, BufRead, IsTerminal};

use tokio::sync::mpsc;

/// Whether a person can be asked: one who sees the question and can type.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The lines of stdin, read by a thread of their own: a runtime would wait for one of its own that
/// is still reading when the process shall end.
pub(crate) struct Lines {
    lines: mpsc::Receiver<String>,
}

impl Lines {
    /// Begins to read.
    pub(crate) fn start() -> Self {
        let (sender, lines) = mpsc::channel(16);
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next line, without its end; none when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}
