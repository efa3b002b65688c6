//! `entourage documents import`: the Markdown files of a directory become documents.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;
use entourage_api::{ChangeDocument, CreateDocument, Document, DocumentHead, Project};
use entourage_engine::file_names;
use entourage_types::{DOCUMENT_BYTES, DocumentId, PartError, check_content, checked_name, fold_name};
use serde::Serialize;

use super::oldest_first;
use crate::cli::{
    backend::{self, Backend, Purpose, Result},
    failure::{Exit, Failure},
    globals::{Globals, quoted},
    out,
    reference::Reference,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage documents import notes --project Trip --create   creates the project, too, if there is none
  entourage documents import notes --project Trip            again: what has changed gets a new version

Each *.md or *.markdown file becomes a document named after it, without the suffix. A document of that name gets the \
text of the file as a new version, if it differs. Directories in DIR, hidden files and files with other names are left \
out; symbolic links are refused, because they may lead to a file that was not meant. A file that is refused is named \
with the reason, the others are imported, and the exit code is 1.";

/// The suffixes of files that are imported.
const SUFFIXES: [&str; 2] = ["md", "markdown"];

/// Make documents of the Markdown files in a directory
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Import {
    /// The directory with the files
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The project for the documents: its name, number or id
    #[arg(long, value_name = "PROJECT")]
    project: Reference,
    /// Create the project if there is none of this name
    #[arg(long)]
    create: bool,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ImportOutcome {
    /// A document was created.
    Created,
    /// A document got a new version.
    Changed,
    /// The document has this text already.
    Unchanged,
    /// Nothing was done.
    Refused,
}

/// The result for one file.
#[derive(Serialize)]
struct Imported {
    file: String,
    outcome: ImportOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<DocumentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Import {
    pub(super) async fn run(self, globals: &Globals) -> Result<Exit> {
        let (files, directories) = found(&self.directory)?;
        let purpose = if self.create { Purpose::Write } else { Purpose::Look };
        let backend = backend::connect(globals, &globals.settings()?, purpose).await?;
        let project = match self.create {
            true => self.project.project_or_new(&backend).await?,
            false => self.project.project(&backend).await.map_err(|failure| {
                if failure.is_not_found() { failure.then("--create creates it here") } else { failure }
            })?,
        };
        let mut known = Known::of(oldest_first(backend.documents(project.id).await?));
        let (mut refused, mut told) = (0, Ok(()));
        for file in &files {
            let one = match known.import(&backend, &project, file).await? {
                Ok(one) => one,
                Err(why) => Imported {
                    file: file.display().to_string(),
                    outcome: ImportOutcome::Refused,
                    document: None,
                    name: None,
                    version: None,
                    why: Some(why),
                },
            };
            refused += usize::from(one.outcome == ImportOutcome::Refused);
            // Who does not read to the end gets all documents nevertheless.
            told = told.and_then(|()| if globals.json { out::json(&one) } else { tell(&one) });
        }
        told?;
        if !globals.json && !globals.quiet {
            self.sum_up(&project, (files.len() - refused, files.len()), directories);
        }
        Ok(if refused == 0 { Exit::Done } else { Exit::Failed })
    }

    fn sum_up(&self, project: &Project, (imported, files): (usize, usize), directories: usize) {
        let name = &project.name;
        out::note(format!("{imported} of {files} files are documents of `{name}` now"));
        if directories > 0 {
            let directory = quoted(&self.directory.display().to_string());
            let what =
                if directories == 1 { "1 directory".into() } else { format!("{directories} directories") };
            out::note(format!("{what} in {directory} were not looked into; import each by its own name"));
        }
    }
}

/// The files that are named as documents are, in order, and how many directories there are beside them.
fn found(directory: &Path) -> Result<(Vec<PathBuf>, usize)> {
    let unreadable = |error: std::io::Error| {
        Failure::usage(format!("{}: {error}. Name a directory with Markdown files", directory.display()))
    };
    let (mut files, mut directories) = (Vec::new(), 0);
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let is_directory = entry.file_type().is_ok_and(|is| is.is_dir());
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let path = entry.path();
        let is_named = path
            .extension()
            .and_then(|end| end.to_str())
            .is_some_and(|end| SUFFIXES.iter().any(|suffix| end.eq_ignore_ascii_case(suffix)));
        match (is_directory, is_hidden) {
            (_, true) => {}
            (true, false) => directories += 1,
            (false, false) if is_named => files.push(path),
            (false, false) => {}
        }
    }
    if files.is_empty() {
        return Err(Failure::usage(format!(
            "there is no *.md or *.markdown file in {}. Directories in it are not looked into",
            directory.display()
        )));
    }
    files.sort();
    Ok((files, directories))
}

/// The documents of a project, and the files that were imported into them.
struct Known {
    /// By the names of the files that they are exported to, and by their own, without the suffix and in the form in which
    /// names are compared.
    documents: HashMap<String, DocumentId>,
    files: HashMap<DocumentId, PathBuf>,
}

impl Known {
    fn of(documents: Vec<DocumentHead>) -> Self {
        let files = file_names(documents.iter().map(|head| head.name.as_str()));
        let stem = |file: String| fold_name(file.strip_suffix(".md").unwrap_or(&file));
        let mut known: HashMap<String, DocumentId> =
            files.into_iter().map(stem).zip(documents.iter().map(|head| head.id)).collect();
        for head in documents {
            known.entry(fold_name(&head.name)).or_insert(head.id);
        }
        Self { documents: known, files: HashMap::new() }
    }

    /// Imports a file, or says why not.
    async fn import(
        &mut self,
        backend: &Backend,
        project: &Project,
        file: &Path,
    ) -> Result<Result<Imported, String>> {
        let (name, content) = match name_of(file).and_then(|name| Ok((name, text_of(file)?))) {
            Ok(read) => read,
            Err(why) => return Ok(Err(why)),
        };
        let folded = fold_name(&name);
        let document = self.documents.get(&folded).copied();
        if let Some(other) = document.and_then(|document| self.files.get(&document)) {
            let other = other.file_name().unwrap_or_default().display();
            return Ok(Err(format!("its document would be the same as that of {other}; rename one of them")));
        }
        let summary = format!("imported from {}", file.file_name().unwrap_or_default().display());
        let done = match document {
            None => {
                let new = CreateDocument { name, content, summary, standing_instruction: String::new() };
                let created = refusal(backend.create_document(project.id, &new).await)?;
                created.map(|created| (created, ImportOutcome::Created))
            }
            Some(id) => {
                let before = backend.document(id).await?;
                if before.content == content {
                    Ok((before, ImportOutcome::Unchanged))
                } else {
                    let change =
                        ChangeDocument { content: Some(content), summary, ..ChangeDocument::default() };
                    let changed = backend.change_document(id, before.head.version, &change).await;
                    refusal(changed)?.map(|changed| (changed, ImportOutcome::Changed))
                }
            }
        };
        Ok(done.map(|(document, outcome)| {
            self.documents.insert(folded, document.head.id);
            self.files.insert(document.head.id, file.to_owned());
            imported(file, &document, outcome)
        }))
    }
}

fn imported(file: &Path, document: &Document, outcome: ImportOutcome) -> Imported {
    let DocumentHead { id, name, version, .. } = &document.head;
    Imported {
        file: file.display().to_string(),
        outcome,
        document: Some(*id),
        name: Some(name.clone()),
        version: Some(*version),
        why: None,
    }
}

/// Separates what is wrong with one file, which the others do not share, from what stops the import.
fn refusal(done: Result<Document>) -> Result<Result<Document, String>> {
    match done {
        Ok(document) => Ok(Ok(document)),
        Err(failure) if failure.is_stale() => Ok(Err(
            "its document was changed by somebody else at the same moment; import it again".to_owned(),
        )),
        Err(failure) if failure.is_usage() => Ok(Err(failure.text().trim_end_matches('.').to_owned())),
        Err(failure) => Err(failure),
    }
}

/// The name of the document that a file becomes.
fn name_of(file: &Path) -> Result<String, String> {
    let stem = file.file_stem().unwrap_or_default();
    let name = stem.to_str().ok_or("its name is not UTF-8; rename it")?;
    checked_name(name).map_err(|error| error.to_string())
}

/// The text of a file.
fn text_of(file: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let is = fs::symlink_metadata(file).map_err(unreadable)?;
    if is.is_symlink() {
        return Err("it is a symbolic link, which may lead to any file; put a copy in its place".to_owned());
    }
    // A pipe or a device would never end.
    if !is.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let long = |bytes| PartError::Long { part: "content", bytes, most: DOCUMENT_BYTES }.to_string();
    if is.len() > DOCUMENT_BYTES as u64 {
        return Err(long(usize::try_from(is.len()).unwrap_or(usize::MAX)));
    }
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened.take(DOCUMENT_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("it is not UTF-8 text, from byte {at} on; save it as UTF-8")
    })?;
    check_content(&text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn tell(one: &Imported) -> Result<()> {
    let (paint, file) = (out::stdout(), &one.file);
    let word = match one.outcome {
        ImportOutcome::Created => paint.green("created"),
        ImportOutcome::Changed => paint.green("changed"),
        ImportOutcome::Unchanged => paint.dim("unchanged"),
        ImportOutcome::Refused => paint.red("refused"),
    };
    match (&one.name, one.version) {
        (Some(name), Some(version)) => {
            out::result(text![word, " ", paint.bold(name), ", version ", version, ", from ", file])
        }
        _ => out::result(text![word, " ", file, ": ", one.why.as_deref().unwrap_or_default()]),
    }
}
