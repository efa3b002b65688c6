//! `entourage supervise`: how this program starts the MCP servers of this machine. Not for people.

use std::ffi::OsString;

use clap::Args;

use super::{backend::Result, failure::Exit};

/// The word for it on the command line.
#[cfg(target_os = "linux")]
const COMMAND: &str = "supervise";

/// Run a command, and end all that it has started when the input of this one ends
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Supervise {
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The first words of the command: this program itself, also where its file was replaced since.
#[cfg(target_os = "linux")]
pub(super) fn words() -> Option<Vec<OsString>> {
    Some(["/proc/self/exe", COMMAND, "--"].map(OsString::from).to_vec())
}

/// Other systems have no way to find what a server has started.
#[cfg(not(target_os = "linux"))]
pub(super) fn words() -> Option<Vec<OsString>> {
    None
}

impl Supervise {
    #[cfg(target_os = "linux")]
    pub(crate) async fn obey(self) -> Result<Exit> {
        let mut words = self.command.into_iter();
        let command = words.next().unwrap_or_default();
        match entourage_tools::supervise(command, words.collect()).await {
            // Its input may still be read by a thread, which only the end of the process ends.
            Ok(code) => std::process::exit(code.into()),
            Err(error) => Err(super::failure::Failure::failed(format!("it does not start: {error}"))),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn obey(self) -> Result<Exit> {
        Err(super::failure::Failure::usage("this system has no way to do that"))
    }
}
