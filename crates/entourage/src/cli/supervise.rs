//! `entourage supervise`: starts the MCP servers of this machine for this program. Not for users.

use std::ffi::OsString;

use clap::Args;

use super::{backend::Result, failure::Exit};

/// Its name on the command line.
#[cfg(target_os = "linux")]
const COMMAND: &str = "supervise";

/// Run a command, and end all processes that it started when the input of this one ends
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Supervise {
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The first arguments of the command: this program itself, even if its file has been replaced since.
#[cfg(target_os = "linux")]
pub(super) fn words() -> Option<Vec<OsString>> {
    Some(["/proc/self/exe", COMMAND, "--"].map(OsString::from).to_vec())
}

/// Other systems have no way to find the processes that a server has started.
#[cfg(not(target_os = "linux"))]
pub(super) fn words() -> Option<Vec<OsString>> {
    None
}

impl Supervise {
    #[cfg(target_os = "linux")]
    pub(crate) async fn run(self) -> Result<Exit> {
        let mut words = self.command.into_iter();
        let command = words.next().unwrap_or_default();
        match entourage_tools::supervise(command, words.collect()).await {
            // A thread may still be reading its input; only the end of the process ends that thread.
            Ok(code) => std::process::exit(code.into()),
            Err(error) => Err(super::failure::Failure::failed(format!("it does not start: {error}"))),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn run(self) -> Result<Exit> {
        Err(super::failure::Failure::usage("this system has no way to do that"))
    }
}
