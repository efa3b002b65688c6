//! `entourage documents export`: one document, or those of a project, as Markdown files.

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Read, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use entourage_api::DocumentHead;
use entourage_engine::file_names;
use entourage_types::DocumentId;
use serde::Serialize;

use super::oldest_first;
use crate::cli::{
    backend::{self, Backend, Purpose, Result},
    failure::{Exit, Failure},
    globals::Globals,
    out,
    reference::Reference,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage documents export Plan > plan.md               one document, on stdout
  entourage documents export Plan --to copies             as copies/Plan.md
  entourage documents export --project Trip --to copies   every document of a project
  entourage documents export --project Trip --to copies --force   replaces files that are there already

Files are called like their documents, without what a system may take for something else. A file that is there already \
and has another text is left as it is, and the exit code is 1, unless --force is given.";

/// Write documents as Markdown files
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Export {
    /// The document: its name, number or id; without it, all of a project
    #[arg(value_name = "DOC", required_unless_present = "project")]
    document: Option<Reference>,
    /// The project, or with a document the project that it belongs to
    #[arg(long, value_name = "PROJECT")]
    project: Option<Reference>,
    /// The directory for the files; without it, one document goes to stdout
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long, requires = "to")]
    force: bool,
}

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Kept,
    Replaced,
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ExportOutcome {
    Written,
    /// The file has this text already.
    Unchanged,
    Refused,
}

/// The result for one document.
#[derive(Serialize)]
struct Exported {
    file: String,
    document: DocumentId,
    outcome: ExportOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Export {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let documents = match (&self.document, &self.project) {
            (Some(document), project) => vec![document.document(&backend, project.as_ref()).await?],
            (None, Some(project)) => {
                let project = project.project(&backend).await?;
                oldest_first(backend.documents(project.id).await?)
            }
            (None, None) => Vec::new(),
        };
        match (&self.to, &self.document) {
            (Some(to), _) => self.write(globals, &backend, &documents, to).await,
            (None, Some(_)) => {
                for head in documents {
                    let document = backend.document(head.id).await?;
                    if globals.json { out::json(&document)? } else { out::document(&document.content)? }
                }
                Ok(Exit::Done)
            }
            (None, None) => Err(Failure::usage(
                "a project is exported as files: name the directory for them with --to DIR; `entourage documents show` \
                 prints one document",
            )),
        }
    }

    async fn write(
        &self,
        globals: &Globals,
        backend: &Backend,
        documents: &[DocumentHead],
        to: &Path,
    ) -> Result<Exit> {
        fs::create_dir_all(to).map_err(|error| {
            Failure::usage(format!("{}: {error}. Name a directory with --to", to.display()))
        })?;
        let existing = if self.force { Existing::Replaced } else { Existing::Kept };
        let names = file_names(documents.iter().map(|head| head.name.as_str()));
        let (mut refused, mut written, mut told) = (0, 0, Ok(()));
        for (head, name) in documents.iter().zip(names) {
            let document = match backend.document(head.id).await {
                Ok(document) => document,
                // It was deleted meanwhile.
                Err(failure) if failure.is_not_found() && self.document.is_none() => continue,
                Err(failure) => return Err(failure),
            };
            let path = to.join(name);
            let (outcome, why) = match save(&path, &document.content, existing) {
                Ok(outcome) => (outcome, None),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    (ExportOutcome::Refused, Some("is there already; --force replaces it".to_owned()))
                }
                Err(error) => (ExportOutcome::Refused, Some(format!("cannot be written: {error}"))),
            };
            match outcome {
                ExportOutcome::Refused => refused += 1,
                ExportOutcome::Written | ExportOutcome::Unchanged => written += 1,
            }
            let one = Exported { file: path.display().to_string(), document: head.id, outcome, why };
            // Who does not read to the end gets all files nevertheless.
            told = told.and_then(|()| if globals.json { out::json(&one) } else { tell(&one) });
        }
        told?;
        if !globals.json && !globals.quiet {
            let count = if written == 1 { "1 document".to_owned() } else { format!("{written} documents") };
            out::note(format!("{count} in {}", to.display()));
        }
        Ok(if refused == 0 { Exit::Done } else { Exit::Failed })
    }
}

fn tell(one: &Exported) -> Result<()> {
    let (paint, file) = (out::stdout(), &one.file);
    match one.outcome {
        ExportOutcome::Written => out::result(text![paint.green("wrote"), " ", file]),
        ExportOutcome::Unchanged => out::result(text![paint.dim("unchanged"), " ", file]),
        ExportOutcome::Refused => {
            let why = one.why.as_deref().unwrap_or_default();
            out::result(text![paint.red("refused"), " ", file, ": ", why])
        }
    }
}

/// Writes a file. What is there already is never written into: a link would lead elsewhere.
fn save(path: &Path, content: &str, existing: Existing) -> io::Result<ExportOutcome> {
    let new = |path: &Path| {
        let mut new = OpenOptions::new().write(true).create_new(true).open(path)?;
        let written = new.write_all(content.as_bytes());
        if written.is_err() {
            // Half a file would be taken for one that is to be kept.
            let _ = fs::remove_file(path);
        }
        written
    };
    match new(path) {
        Ok(()) => Ok(ExportOutcome::Written),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if has_text(path, content) {
                return Ok(ExportOutcome::Unchanged);
            }
            if existing == Existing::Kept {
                return Err(error);
            }
            // The file is the old one or the new one at every moment.
            let beside = path.with_extension(format!("md.{}.new", std::process::id()));
            let replaced = new(&beside).and_then(|()| fs::rename(&beside, path));
            if replaced.is_err() {
                let _ = fs::remove_file(&beside);
            }
            replaced.map(|()| ExportOutcome::Written)
        }
        Err(error) => Err(error),
    }
}

/// Whether a regular file has exactly this text.
fn has_text(path: &Path, text: &str) -> bool {
    let is_like = fs::symlink_metadata(path).is_ok_and(|is| is.is_file() && is.len() == text.len() as u64);
    let mut read = Vec::with_capacity(text.len());
    is_like
        && fs::File::open(path)
            .and_then(|file| file.take(text.len() as u64 + 1).read_to_end(&mut read))
            .is_ok_and(|_| read == text.as_bytes())
}
