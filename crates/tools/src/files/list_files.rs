//! `list_files`: the contents of a directory.

use std::ffi::{CStr, CString};

use async_trait::async_trait;
use entourage_types::{Owner, ResultSource, ToolSpec, tool_names};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Files,
    confine::{Bounds, Found, on_disk, unreadable},
    entries::{Directory, display_name},
};
use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::LIST_FILES;
const MOST: usize = 500;
/// The contents of subdirectories are included up to so many lines.
const FEW: usize = 50;

/// Lists the files that agents may read.
#[derive(Debug, Clone)]
pub struct ListFiles {
    files: Files,
}

impl ListFiles {
    /// Creates the tool for this directory.
    #[must_use]
    pub fn new(files: Files) -> Self {
        Self { files }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// A subdirectory, for example `docs`; the top when not given.
    #[serde(default)]
    path: Option<String>,
}

#[async_trait]
impl Tool for ListFiles {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>(NAME, "List the files that you may read, with their paths. Start here."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    fn serves(&self, owner: &Owner) -> bool {
        self.files.serve(owner)
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { path } = parse(NAME, arguments)?;
        let files = self.files.clone();
        let listed =
            on_disk(move |abandoned| list(&files.bounds()?, path.as_deref().unwrap_or("."), &abandoned));
        listed.await.map(Outcome::text)
    }
}

/// Lists a directory. If none of that name exists, lists the root, so that the next call can name an existing
/// path.
fn list(bounds: &Bounds, path: &str, abandoned: &CancellationToken) -> Result<String> {
    match bounds.open(path)? {
        Found::Directory(opened, below) => lines(&Directory { bounds, opened, below, abandoned }, path),
        Found::Nothing if path != "." => {
            let top = list(bounds, ".", abandoned)?;
            Ok(format!("There is no `{}`. At the top there are:\n{top}", display_name(path)))
        }
        _ => Err(Error::Failed(format!("`{path}` is not a directory; read_file reads a file"))),
    }
}

/// Lists one level, and the contents of its directories if all of it is little: a model that need not ask
/// again does not guess. Skipped directories are not examined further.
fn lines(directory: &Directory<'_>, path: &str) -> Result<String> {
    let (names, more) = directory.first(MOST).map_err(|error| unreadable(path, &error))?;
    let mut room = FEW.saturating_sub(names.len() + more);
    let mut lines = Vec::new();
    add(&mut lines, directory, &names, &mut room);
    if more > 0 {
        lines.push(format!("[{more} more entries are not shown]"));
    }
    Ok(if lines.is_empty() { format!("`{path}` is empty.") } else { lines.join("\n") })
}

/// Adds the lines of a directory, each subdirectory followed by its own contents while there is room.
fn add(lines: &mut Vec<String>, directory: &Directory<'_>, names: &[CString], room: &mut usize) {
    for name in names {
        let Some((line, kind)) = line(directory, name) else { continue };
        lines.push(line);
        let inside = || {
            let path = directory.at(name);
            let Ok(Found::Directory(opened, below)) = directory.bounds.open(path.to_str()?) else {
                return None;
            };
            let inside = Directory { opened, below, ..*directory };
            let names = inside.few(*room)?;
            Some((inside, names))
        };
        if kind == FileType::Directory
            && *room > 0
            && let Some((inside, names)) = inside()
        {
            *room -= names.len();
            add(lines, &inside, &names, room);
        }
    }
}

/// Returns the path below the root with its type: `docs/` for a directory, `docs/plan.md (1234 bytes)` for a
/// file. Returns none for an entry that was removed meanwhile, and for sockets, pipes and devices, which are
/// of no use.
fn line(directory: &Directory<'_>, name: &CStr) -> Option<(String, FileType)> {
    let entry = directory.stat(name)?;
    let path = display_name(&directory.at(name).to_string_lossy());
    let kind = FileType::from_raw_mode(entry.st_mode);
    let line = match kind {
        FileType::Symlink => format!("{path} (link)"),
        FileType::Directory => format!("{path}/"),
        FileType::RegularFile => format!("{path} ({} bytes)", entry.st_size),
        _ => return None,
    };
    Some((line, kind))
}
