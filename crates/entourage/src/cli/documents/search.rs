//! `entourage documents search`: finds documents by their words.

use clap::Args;
use entourage_api::FoundDocument;

use crate::cli::{
    backend::{self, Purpose, Result},
    failure::{Exit, Failure},
    globals::Globals,
    out,
    reference::Reference,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage documents search train rome                  documents with both words, in all projects
  entourage documents search --project Trip tra          the last word may be the beginning of one";

/// Find documents by the words of their names and texts, the best match first
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Search {
    /// The words; what is found has all of them
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this project: its name, number or id
    #[arg(long, value_name = "PROJECT")]
    project: Option<Reference>,
    /// Show at most this many of each project
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=50))]
    limit: u32,
}

impl Search {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let words = self.words.join(" ");
        if words.trim().is_empty() {
            return Err(Failure::usage("name at least one word"));
        }
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let projects = match &self.project {
            Some(project) => vec![project.project(&backend).await?],
            None => backend.projects().await?,
        };
        let mut is_found = false;
        for project in &projects {
            for found in backend.find_documents(project.id, &words, self.limit).await? {
                is_found = true;
                if globals.json { out::json(&found)? } else { write(&project.name, &found)? }
            }
        }
        if !is_found && !globals.json && !globals.quiet {
            out::note("no document has all of these words");
        }
        Ok(Exit::Done)
    }
}

fn write(project: &str, FoundDocument { head, snippet }: &FoundDocument) -> Result<()> {
    let paint = out::stdout();
    out::result(text![
        paint.bold(&head.name),
        "  number ",
        head.number,
        "  ",
        paint.dim(project),
        "  ",
        snippet
    ])
}
