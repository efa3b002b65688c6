//! `entourage documents show`: the text of a document, unchanged.

use clap::Args;

use super::{Which, or_versions};
use crate::cli::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage documents show Plan > plan.md
  entourage documents show Plan --version 2     as it was
  entourage documents show 7 --json             with its number, version and times";

/// Print the text of a document, unchanged
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Show {
    #[command(flatten)]
    which: Which,
    /// The version with this number [default: the present one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    version: Option<u64>,
}

impl Show {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let head = self.which.find(&backend).await?;
        match self.version {
            Some(number) => {
                let version = backend.document_version(head.id, number).await;
                let version = version.map_err(|failure| or_versions(&head, failure))?;
                if globals.json { out::json(&version)? } else { out::document(&version.content)? }
            }
            None => {
                let document = backend.document(head.id).await?;
                if globals.json { out::json(&document)? } else { out::document(&document.content)? }
            }
        }
        Ok(Exit::Done)
    }
}
