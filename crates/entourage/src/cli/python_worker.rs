//! `entourage python-worker`: a process that runs the Python code of agents. Not for users.

use std::{ffi::OsString, process::ExitCode};

/// Its name on the command line.
const COMMAND: &str = "python-worker";

/// The first arguments of its command: this program itself, even if its file has been replaced since.
pub(super) fn words() -> Option<Vec<OsString>> {
    let program = if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe().ok()?.into_os_string()
    };
    Some(vec![program, COMMAND.into()])
}

/// Runs it, if the program was started for that: before anything else has begun that code could reach.
pub(crate) fn main() -> Option<ExitCode> {
    let is_meant = std::env::args_os().nth(1).is_some_and(|word| word == COMMAND);
    is_meant.then(entourage::python::worker_main)
}
