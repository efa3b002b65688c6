//! `entourage documents change`: another name or standing instruction for a document.

use clap::Args;
use entourage_api::ChangeDocument;

use super::{Which, or_overtaken};
use crate::cli::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage documents change Plan --name \"Plan for Rome\"
  entourage documents change Plan --standing-instruction \"Short sentences, in French.\"

The change is a new version. `entourage documents import` changes the text, from a file.";

/// Give a document another name, or another standing instruction
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Change {
    #[command(flatten)]
    which: Which,
    /// Its new name, which no other document of the project has
    #[arg(long, value_name = "NAME", required_unless_present = "standing_instruction")]
    name: Option<String>,
    /// What whoever edits it keeps to; empty for nothing
    #[arg(long, value_name = "TEXT")]
    standing_instruction: Option<String>,
}

impl Change {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let head = self.which.find(&backend).await?;
        let Self { name, standing_instruction, .. } = self;
        let change = ChangeDocument { name, standing_instruction, ..ChangeDocument::default() };
        let seen = head.version;
        let changed = backend.change_document(head.id, seen, &change).await;
        let document = changed.map_err(|failure| or_overtaken(&head, "nothing was done", failure))?;
        if globals.json {
            out::json(&document)?;
            return Ok(Exit::Done);
        }
        let name = out::stdout().bold(&document.head.name);
        out::result(match document.head.version {
            now if now == seen => text![name, " is like that already: nothing was changed"],
            now => text!["changed ", name, ", version ", now],
        })?;
        Ok(Exit::Done)
    }
}
