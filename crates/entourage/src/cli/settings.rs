//! `entourage settings`: every setting there is.

use clap::Args;
use entourage::settings;

use super::{backend::Result, failure::Exit, out};

const AFTER_HELP: &str = "\
Examples:
  entourage settings                                         every key, what it says, its default
  entourage settings | grep retention
  cargo run -p entourage -- settings > docs/settings.md      the copy in the repository

`entourage init` writes them as a file to start from. `entourage doctor` shows what is set up.";

/// Write every setting and variable with its default, as a page in Markdown
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Settings {}

impl Settings {
    pub(crate) fn obey(self) -> Result<Exit> {
        out::piece(settings::markdown())?;
        Ok(Exit::Done)
    }
}
