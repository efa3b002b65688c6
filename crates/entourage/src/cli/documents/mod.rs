//! `entourage documents`: what a person does with the documents of projects.

mod change;
mod delete;
mod diff;
mod export;
mod import;
mod list;
mod search;
mod show;
mod undo;
mod versions;

use clap::{Args, Subcommand};
use entourage_api::DocumentHead;

use super::{
    backend::{Backend, Result},
    failure::{Exit, Failure},
    globals::Globals,
    reference::Reference,
};

const AFTER_HELP: &str = "\
Examples:
  entourage documents import notes --project Trip --create   each *.md becomes a document
  entourage documents                                        all of them, with their versions
  entourage documents search train rome                      those with both words
  entourage documents show Plan > plan.md                    the text, unchanged
  entourage documents diff Plan                              what the last change changed
  entourage documents undo Plan                              the version before it, as a new one
  entourage documents export --project Trip --to copies      each document as a file

A document is named by its name, its number or its id; with --project, by a name that documents of other projects may \
have too. No version is lost while the document is there: `undo` adds one. `entourage act` has an agent change documents.";

/// List, find, show, compare, bring back, rename, export, import and delete documents
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Documents {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    Search(search::Search),
    Show(show::Show),
    Versions(versions::Versions),
    Diff(diff::Diff),
    Undo(undo::Undo),
    Change(change::Change),
    Export(export::Export),
    Import(import::Import),
    Delete(delete::Delete),
}

impl Documents {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        match self.command.unwrap_or(Command::List(list::List::default())) {
            Command::List(list) => list.run(globals).await,
            Command::Search(search) => search.run(globals).await,
            Command::Show(show) => show.run(globals).await,
            Command::Versions(versions) => versions.run(globals).await,
            Command::Diff(diff) => diff.run(globals).await,
            Command::Undo(undo) => undo.run(globals).await,
            Command::Change(change) => change.run(globals).await,
            Command::Export(export) => export.run(globals).await,
            Command::Import(import) => import.run(globals).await,
            Command::Delete(delete) => delete.run(globals).await,
        }
    }
}

/// Which document is meant.
#[derive(Debug, Args)]
struct Which {
    /// The document: its name, number or id
    #[arg(value_name = "DOC")]
    document: Reference,
    /// The project that it belongs to, where documents of several have the name
    #[arg(long, value_name = "PROJECT")]
    project: Option<Reference>,
}

impl Which {
    async fn find(&self, backend: &Backend) -> Result<DocumentHead> {
        self.document.document(backend, self.project.as_ref()).await
    }
}

/// Documents in the order in which they get the names of their files: a later one takes no name away from an earlier one.
fn oldest_first(mut documents: Vec<DocumentHead>) -> Vec<DocumentHead> {
    documents.reverse();
    documents
}

/// Adds to a failure about a version that does not exist the command that lists those that do.
fn or_versions(document: &DocumentHead, failure: Failure) -> Failure {
    if failure.is_not_found() {
        failure.then(&format!("`entourage documents versions {}` lists them", document.number))
    } else {
        failure
    }
}

/// Says of a change for a version that others have changed meanwhile that it was not made: `undone` says what was not done.
fn or_overtaken(document: &DocumentHead, undone: &str, failure: Failure) -> Failure {
    let DocumentHead { name, number, version, .. } = document;
    match failure.is_stale() {
        true => Failure::stale(format!(
            "`{name}` was changed meanwhile, after version {version}, and {undone}. `entourage documents diff {number} \
             {version}` shows the change; then try again"
        )),
        false => failure,
    }
}
