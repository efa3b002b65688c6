//! `entourage documents delete`: deletes a document for good.

use clap::Args;

use super::{Which, or_overtaken};
use crate::cli::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Example:
  entourage documents delete Plan

All versions go with it, and nothing brings them back: `entourage documents export` keeps a copy. If somebody changes the \
document at the same moment, nothing is done, and the command says so.";

/// Delete a document with all its versions
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Delete {
    #[command(flatten)]
    which: Which,
}

impl Delete {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let head = self.which.find(&backend).await?;
        let (name, seen) = (&head.name, head.version);
        let deleted = backend.delete_document(head.id, seen).await;
        deleted.map_err(|failure| or_overtaken(&head, "it was not deleted", failure))?;
        if globals.json {
            out::json(&head)?;
        } else {
            let versions = if seen == 1 { "version" } else { "versions" };
            out::result(text!["deleted ", out::stdout().bold(name), " with its ", seen, " ", versions])?;
        }
        Ok(Exit::Done)
    }
}
