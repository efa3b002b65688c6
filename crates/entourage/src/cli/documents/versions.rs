//! `entourage documents versions`: the history of a document.

use clap::Args;
use entourage_api::{DocumentVersion, Editor};

use super::Which;
use crate::cli::{
    backend::{self, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    out,
    text::text,
};

/// List the versions of a document, newest first: when, who, and what changed
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  entourage documents versions Plan")]
pub(super) struct Versions {
    #[command(flatten)]
    which: Which,
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Versions {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let head = self.which.find(&backend).await?;
        let versions = backend.document_versions(head.id, self.limit).await?;
        for version in &versions {
            if globals.json { out::json(version)? } else { write(version)? }
        }
        let oldest = versions.last().map_or(1, |version| version.number);
        if oldest > 1 && !globals.json && !globals.quiet {
            out::note(format!("there are more; show them with: --limit {}", self.limit.saturating_mul(10)));
        }
        Ok(Exit::Done)
    }
}

fn write(version: &DocumentVersion) -> Result<()> {
    let paint = out::stdout();
    let editor = match &version.editor {
        Editor::Person => text!["you"],
        Editor::Agent { agent, .. } => text!["agent ", agent],
    };
    let summary = describe::cut(&version.summary, 200);
    let what = if summary.is_empty() { version.change.to_string() } else { summary };
    out::result(text![
        paint.bold(version.number),
        "  ",
        paint.dim(describe::moment(version.at)),
        "  ",
        editor,
        "  ",
        what
    ])
}
