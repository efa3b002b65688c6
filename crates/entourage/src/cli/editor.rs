//! The line editor of a conversation: what is typed stands on a line of its own, below everything that is
//! shown meanwhile; a paste is one text, whatever its lines; history is kept.

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

/// What stands before what is typed.
const PROMPT: &str = "> ";
/// How many texts are kept.
const KEPT: usize = 1000;
/// How long, in milliseconds, Esc may be the beginning of another key: nothing is shown meanwhile.
const ESCAPE: u16 = 500;
/// How long what was written may take to be shown at the end: a paste that never ends holds it up.
const SHOWN_IN: Duration = Duration::from_secs(1);
/// What is written and changes nothing: the editor begins a line after each text that does not end one.
const NOTHING: &str = "\x1b[A\n";

/// How the terminal was before.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The terminal is as it was once this is dropped.
pub(super) struct Editing(());

impl Drop for Editing {
    fn drop(&mut self) {
        if let Some(printer) = screen::edited(None) {
            flush(printer);
        }
        restore();
    }
}

/// Begins to read what is typed, by a thread of its own; none where this is no terminal for it.
pub(super) fn start(history: PathBuf, lines: mpsc::Sender<String>) -> Option<Editing> {
    let terminals = io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
    let before = tcgetattr(io::stdin()).ok().filter(|_| terminals)?;
    let config = Config::builder().max_history_size(KEPT).ok()?.history_ignore_dups(true).ok()?;
    let config = config.keyseq_timeout(Some(ESCAPE)).build();
    let mut editor: Editor<(), FileHistory> = Editor::with_config(config).ok()?;
    let printer = editor.create_external_printer().ok()?;
    // A conversation goes on without its history.
    if let Err(error) = private(&history) {
        tracing::warn!(%error, path = %history.display(), "what is typed is not kept");
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
                // As if the terminal had seen to it.
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
                return;
            }
            Err(ReadlineError::Signal(_)) => {}
            Err(_) => return,
        }
    }
}

/// Has the file of the history be for its owner alone, as it is when it is made.
fn private(path: &Path) -> io::Result<()> {
    match fs::set_permissions(path, fs::Permissions::from_mode(0o600)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Waits until all is shown that was written above the editor, which takes one text at a time from its queue of
/// one: as it takes the second of these, it has shown what was there before the first.
fn flush(mut printer: screen::Printer) {
    let (done, shown) = channel();
    std::thread::spawn(move || {
        // An editor that has ended takes no more.
        let _ = printer.print(NOTHING.to_owned()).and_then(|()| printer.print(NOTHING.to_owned()));
        done.send(())
    });
    let _ = shown.recv_timeout(SHOWN_IN);
}

/// Puts the terminal back as it was, at once. The thread that reads may still be waiting for a key, and what was
/// written be held up by it.
pub(super) fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(before) = before else { return };
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    // No bracketed paste any more, and no prompt that nobody reads.
    let _ = io::stdout().lock().write_all(b"\x1b[?2004l\r\x1b[K");
}
