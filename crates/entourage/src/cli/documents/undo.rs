//! `entourage documents undo`: brings back an earlier version of a document, as a new one.

use clap::Args;

use super::{Which, or_overtaken, or_versions};
use crate::cli::{
    backend::{self, Purpose, Result},
    failure::{Exit, Failure},
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage documents undo Plan            takes the last change back
  entourage documents undo Plan --to 2     as it was in version 2

Nothing is lost: what is brought back is a new version. If somebody changes the document at the same moment, nothing is \
done, and the command says so.";

/// Bring back an earlier version of a document, as a new one
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Undo {
    #[command(flatten)]
    which: Which,
    /// The version to bring back [default: the one before the present]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,
}

impl Undo {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let head = self.which.find(&backend).await?;
        let (name, number, seen) = (&head.name, head.number, head.version);
        let to = match self.to {
            Some(to) => to,
            None if seen > 1 => seen - 1,
            None => {
                return Err(Failure::usage(format!(
                    "`{name}` has only its first version: there is nothing to take back. `entourage documents show \
                     {number}` shows it"
                )));
            }
        };
        let undone = backend.undo_document(head.id, seen, to).await;
        let document = undone
            .map_err(|failure| or_versions(&head, or_overtaken(&head, "nothing was taken back", failure)))?;
        if globals.json {
            out::json(&document)?;
            return Ok(Exit::Done);
        }
        let now = document.head.version;
        if now == seen {
            out::result(format!("`{name}` is as in version {to} already: nothing was changed"))?;
            return Ok(Exit::Done);
        }
        let name = out::stdout().bold(&document.head.name);
        out::result(text!["brought back version ", to, " of ", name, " as version ", now])?;
        if !globals.quiet {
            let again = globals.again();
            out::note(format!(
                "to have version {seen} again: entourage documents undo {number} --to {seen}{again}"
            ));
        }
        Ok(Exit::Done)
    }
}
