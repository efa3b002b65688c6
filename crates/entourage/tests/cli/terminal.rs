//! A person at a terminal: what the binary shows them, and what they type.

use std::{
    ffi::OsStr,
    fs::File,
    io::{Read, Write},
    os::unix::ffi::OsStrExt,
    process::{Child, Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::place::Place;

/// A command at a terminal of its own; what it writes to stdout goes elsewhere.
pub(crate) struct Terminal {
    child: Child,
    master: File,
    /// What it has shown, and no wait has been for yet.
    shown: Vec<u8>,
}

impl Terminal {
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::of(place.process(arguments))
    }

    /// Any command.
    pub(crate) fn of(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let size = Winsize { ws_row: 40, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let end = || File::options().read(true).write(true).open(OsStr::from_bytes(name.to_bytes()));
        command.env("NO_COLOR", "1").stdin(end().expect("opens")).stderr(end().expect("opens"));
        let child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        Self { child, master: File::from(master), shown: Vec::new() }
    }

    /// Waits until it shows this.
    #[track_caller]
    pub(crate) fn shows(&mut self, words: &str) {
        let mut bytes = [0; 4096];
        loop {
            if let Some(at) = self.shown.windows(words.len()).position(|part| part == words.as_bytes()) {
                self.shown.drain(..at + words.len());
                return;
            }
            let count = self.master.read(&mut bytes).unwrap_or(0);
            let shown = String::from_utf8_lossy(&self.shown);
            assert_ne!(count, 0, "it ended before it showed {words:?}: {shown}");
            self.shown.extend_from_slice(&bytes[..count]);
        }
    }

    pub(crate) fn types(&mut self, line: &str) {
        writeln!(self.master, "{line}").expect("typed");
    }

    /// Its exit code and stdout, once it has ended.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let mut stdout = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("UTF-8");
        (self.child.wait().expect("it ends").code(), stdout)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
