//! A user at a terminal: what the binary shows, and what the user types.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Write},
    os::{fd::AsFd, unix::ffi::OsStrExt},
    process::{Child, Command, Stdio},
    thread,
};

use rustix::{
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::data_dir::{DataDir, Patience};

const ROWS: u16 = 40;
/// A byte that no command writes, and no terminal shows.
const MARK: &[u8] = b"\x05";

/// The command's end of a terminal.
fn end_of(master: impl AsFd) -> io::Result<File> {
    let name = ptsname(master, Vec::new())?;
    File::options().read(true).write(true).open(OsStr::from_bytes(name.to_bytes()))
}

/// A command at a terminal of its own.
pub(crate) struct Terminal {
    child: Child,
    master: File,
    /// Output that no wait has consumed yet.
    shown: Vec<u8>,
    /// The contents of its screen.
    screen: vt100::Parser,
    _patience: Patience,
}

impl Terminal {
    /// Starts the binary; its stdout is not the terminal.
    pub(crate) fn start(place: &DataDir, arguments: &[&str]) -> Self {
        Self::of(place.process(arguments))
    }

    /// The same for any command.
    pub(crate) fn of(command: Command) -> Self {
        Self::sized(command, 200, Some(Stdio::piped()))
    }

    /// A command with all its output on a terminal with this many columns.
    pub(crate) fn whole(command: Command, columns: u16) -> Self {
        Self::sized(command, columns, None)
    }

    fn sized(mut command: Command, columns: u16, stdout: Option<Stdio>) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let size = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let end = || end_of(&master);
        command.env("NO_COLOR", "1").stdin(end().expect("opens")).stderr(end().expect("opens"));
        let child = command.stdout(stdout.unwrap_or_else(|| end().expect("opens").into())).spawn();
        // Its ends close with it, so that a read ends.
        drop(command);
        let screen = vt100::Parser::new(ROWS, columns, 1000);
        let child = child.expect("it starts");
        let patience = Patience::with(&child);
        Self { child, master: File::from(master), shown: Vec::new(), screen, _patience: patience }
    }

    /// Waits until it shows this.
    #[track_caller]
    pub(crate) fn shows(&mut self, words: &str) {
        loop {
            if let Some(at) = self.shown.windows(words.len()).position(|part| part == words.as_bytes()) {
                self.shown.drain(..at + words.len());
                return;
            }
            self.read(words);
        }
    }

    /// All output since the last wait until it has shown this, with escape sequences.
    #[track_caller]
    pub(crate) fn all_until(&mut self, words: &str) -> String {
        while !self.shown.windows(words.len()).any(|part| part == words.as_bytes()) {
            self.read(words);
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.shown)).into_owned()
    }

    /// Waits until the screen contains this. Returns the screen.
    #[track_caller]
    pub(crate) fn stands(&mut self, words: &str) -> String {
        loop {
            let picture = self.screen.screen().contents();
            if picture.contains(words) {
                return picture;
            }
            self.read(words);
        }
    }

    /// Waits until a picture with this is complete: lines that are redrawn in place end by clearing what is
    /// below them.
    #[track_caller]
    pub(crate) fn draws(&mut self, words: &str) -> String {
        loop {
            let picture = self.screen.screen().contents();
            if picture.contains(words) && self.shown.ends_with(b"\x1b[J") {
                return picture;
            }
            self.read(words);
        }
    }

    /// Resizes it as a user resizes a window: the terminal wraps its contents again. The command is stopped
    /// meanwhile, so that nothing is drawn for one width and arrives at the other.
    pub(crate) fn resizes(&mut self, columns: u16) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::STOP).expect("sent");
        waitpid(Some(pid), WaitOptions::UNTRACED).expect("it stops");
        // The system delivers written bytes with delay: all have arrived once this has.
        end_of(&self.master).expect("a terminal").write_all(MARK).expect("written");
        let mut bytes = Vec::new();
        while !bytes.ends_with(MARK) {
            let mut piece = [0; 4096];
            let count = self.master.read(&mut piece).expect("it stands still");
            bytes.extend_from_slice(&piece[..count]);
        }
        bytes.truncate(bytes.len() - MARK.len());
        self.shown.extend_from_slice(&bytes);
        self.screen.process(&bytes);
        let screen = self.screen.screen();
        let width = screen.size().1;
        let last = screen.rows(0, width).collect::<Vec<_>>().iter().rposition(|row| !row.is_empty());
        let below = usize::from(screen.cursor_position().0) - last.unwrap_or_default();
        let text = screen.contents().replace('\n', "\r\n") + &"\r\n".repeat(below);
        self.screen = vt100::Parser::new(ROWS, columns, 1000);
        self.screen.process(text.as_bytes());
        let size = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).expect("a size");
        for signal in [Signal::WINCH, Signal::CONT] {
            kill_process(pid, signal).expect("sent");
        }
    }

    #[track_caller]
    fn read(&mut self, wanted: &str) {
        let mut bytes = [0; 4096];
        let count = self.master.read(&mut bytes).unwrap_or(0);
        let picture = self.screen.screen().contents();
        assert_ne!(count, 0, "it ended before it showed {wanted:?}: {picture}");
        self.shown.extend_from_slice(&bytes[..count]);
        self.screen.process(&bytes[..count]);
    }

    pub(crate) fn types(&mut self, line: &str) {
        self.sends(&format!("{line}\n"));
    }

    /// Presses these keys.
    pub(crate) fn sends(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("typed");
    }

    /// Its exit code and stdout, once it has ended.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        // It goes on drawing, and would wait for a reader once the terminal holds as much as it can.
        let mut master = self.master.try_clone().expect("cloned");
        let rest = thread::spawn(move || master.read_to_end(&mut Vec::new()));
        let mut stdout = String::new();
        if let Some(mut piped) = self.child.stdout.take() {
            piped.read_to_string(&mut stdout).expect("UTF-8");
        }
        let code = self.child.wait().expect("it ends").code();
        let _ = rest.join();
        (code, stdout)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
