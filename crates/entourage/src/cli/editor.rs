//! The line editor of a conversation: input is on a line of its own, below all output; a paste is one text,
//! however many lines it has; the history is saved.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, mpsc::channel},
    time::Duration,
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{Config, Editor, error::ReadlineError, history::FileHistory};
use tokio::sync::mpsc;

use super::{chat::is_end, screen};

/// The prompt before the input.
const PROMPT: &str = "> ";
/// How many texts are kept.
const KEPT: usize = 1000;
/// How long, in milliseconds, Esc may be the beginning of another key: no output is shown meanwhile.
const ESCAPE: u16 = 500;
/// How long pending output may take to be shown at the end: a paste that never ends blocks it.
const SHOWN_IN: Duration = Duration::from_secs(1);
/// Output that changes nothing on the screen: the editor begins a line after each text that does not end one.
const NOTHING: &str = "\x1b[A\n";

/// The state of the terminal before.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Restores the terminal when dropped.
pub(super) struct Editing(());

impl Drop for Editing {
    fn drop(&mut self) {
        if let Some(printer) = screen::edited(None) {
            flush(printer);
        }
        restore();
    }
}

/// Starts reading input on a thread of its own; none where the terminal does not support it.
pub(super) fn start(history: PathBuf, lines: mpsc::Sender<String>) -> Option<Editing> {
    let terminals = io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
    let before = tcgetattr(io::stdin()).ok().filter(|_| terminals)?;
    let config = Config::builder().max_history_size(KEPT).ok()?.history_ignore_dups(true).ok()?;
    let config = config.keyseq_timeout(Some(ESCAPE)).build();
    let mut editor: Editor<(), FileHistory> = Editor::with_config(config).ok()?;
    let printer = editor.create_external_printer().ok()?;
    // A conversation goes on without its history.
    if let Err(error) = private(&history) {
        tracing::warn!(%error, path = %history.display(), "the input history is not saved");
    }
    let _ = editor.load_history(&history);
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    screen::edited(Some(Box::new(printer)));
    std::thread::spawn(move || read(editor, &history, &lines));
    Some(Editing(()))
}

fn read(mut editor: Editor<(), FileHistory>, history: &Path, lines: &mpsc::Sender<String>) {
    loop {
        match editor.readline(PROMPT) {
            Ok(text) => {
                if !text.trim().is_empty() && editor.add_history_entry(text.as_str()).unwrap_or(false) {
                    let _ = editor.append_history(history);
                }
                let is_end = is_end(&text);
                if lines.blocking_send(text).is_err() || is_end {
                    return;
                }
            }
            Err(ReadlineError::Interrupted) => {
                // As if the terminal had sent the signal.
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
                return;
            }
            Err(ReadlineError::Signal(_)) => {}
            Err(_) => return,
        }
    }
}

/// Makes the history file private to its owner, as it is when it is created.
fn private(path: &Path) -> io::Result<()> {
    match fs::set_permissions(path, fs::Permissions::from_mode(0o600)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Waits until all output above the editor is shown. The editor takes one text at a time from its queue of
/// one: when it takes the second of these, it has shown everything before the first.
fn flush(mut printer: screen::Printer) {
    let (done, shown) = channel();
    std::thread::spawn(move || {
        // An editor that has ended takes no more.
        let _ = printer.print(NOTHING.to_owned()).and_then(|()| printer.print(NOTHING.to_owned()));
        done.send(())
    });
    let _ = shown.recv_timeout(SHOWN_IN);
}

/// Restores the terminal at once. The thread that reads may still be waiting for a key, and may hold up
/// pending output.
pub(super) fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(before) = before else { return };
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    // Ends bracketed paste and removes the prompt, which no thread reads any more.
    let _ = io::stdout().lock().write_all(b"\x1b[?2004l\r\x1b[K");
}
