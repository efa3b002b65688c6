//! `entourage documents diff`: what differs between two versions of a document.

use clap::Args;
use entourage_api::{DocumentDiff, DocumentHead, Replaced, ShowDiff};

use super::{Which, or_versions};
use crate::cli::{
    backend::{self, Purpose, Result},
    failure::{Exit, Failure},
    globals::Globals,
    out,
    text::{Text, text},
};

const AFTER_HELP: &str = "\
Examples:
  entourage documents diff Plan            what the last change changed
  entourage documents diff Plan 1          everything since the first version
  entourage documents diff Plan 1 3        between two versions
  entourage documents diff Plan 1 3 | patch copy.md";

/// Show what differs between two versions of a document
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Diff {
    #[command(flatten)]
    which: Which,
    /// The version to begin with [default: the one before the present]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    from: Option<u64>,
    /// The version to compare it with [default: the present one]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,
}

impl Diff {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let head = self.which.find(&backend).await?;
        let from = match self.from {
            Some(from) => from,
            None if head.version > 1 => head.version - 1,
            None => {
                let name = &head.name;
                return Err(Failure::usage(format!(
                    "`{name}` has only its first version: there is nothing to compare it with. `entourage documents \
                     show {}` shows it",
                    head.number
                )));
            }
        };
        let which = ShowDiff { from, to: self.to.unwrap_or(head.version) };
        let diff = backend.document_diff(head.id, which).await;
        let diff = diff.map_err(|failure| or_versions(&head, failure))?;
        if globals.json {
            out::json(&diff)?;
            return Ok(Exit::Done);
        }
        write(&head, &diff)?;
        if diff.unified.is_empty() && !globals.quiet {
            out::note(format!("versions {} and {} have the same text", diff.from, diff.to));
        }
        Ok(Exit::Done)
    }
}

/// Writes a unified diff. What stands before its head is no part of it for programs that apply diffs.
fn write(head: &DocumentHead, diff: &DocumentDiff) -> Result<()> {
    if let Some(replaced) = &diff.name {
        out::result(changed("name", replaced))?;
    }
    if let Some(replaced) = &diff.standing_instruction {
        out::result(changed("standing instruction", replaced))?;
    }
    if diff.unified.is_empty() {
        return Ok(());
    }
    let paint = out::stdout();
    for (mark, version) in [("---", diff.from), ("+++", diff.to)] {
        out::result(paint.bold(format!("{mark} {} (version {version})", head.name)))?;
    }
    for line in diff.unified.split_inclusive('\n') {
        out::document_line(line, |line: &str| match line.as_bytes().first() {
            Some(b'+') => paint.green(line),
            Some(b'-') => paint.red(line),
            Some(b'@') => paint.cyan(line),
            _ => text![line],
        })?;
    }
    Ok(())
}

fn changed(what: &str, replaced: &Replaced) -> Text {
    let Replaced { before, after } = replaced;
    text![what, ": ", format!("{before:?}"), " → ", format!("{after:?}")]
}
