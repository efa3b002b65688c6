//! `list_files`: what a directory holds.

use std::ffi::CStr;

use async_trait::async_trait;
use entourage_types::{Owner, ToolSpec};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Files,
    confine::{Bounds, Found, on_disk, unreadable},
    entries::{Directory, told},
};
use crate::{Caller, Context, Effect, Error, Outcome, Result, Source, Tool, parse, spec_of};

const NAME: &str = "list_files";
const MOST: usize = 500;

/// Lists one level of the directory.
#[derive(Debug, Clone)]
pub struct ListFiles {
    files: Files,
}

impl ListFiles {
    /// The tool for this directory.
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
        Some(spec_of::<Arguments>(
            NAME,
            "List the files that you may read, one level of a directory. Start here.",
        ))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> Source {
        Source::Private
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

/// What a directory holds. Where there is none of that name, the top, so that the next call can name
/// what there is.
fn list(bounds: &Bounds, path: &str, abandoned: &CancellationToken) -> Result<String> {
    match bounds.open(path)? {
        Found::Directory(opened, below) => lines(&Directory { bounds, opened, below, abandoned }, path),
        Found::Nothing if path != "." => {
            let top = list(bounds, ".", abandoned)?;
            Ok(format!("There is no `{}`. At the top there are:\n{top}", told(path)))
        }
        _ => Err(Error::Failed(format!("`{path}` is not a directory; read_file reads a file"))),
    }
}

/// Only what is listed is looked at.
fn lines(directory: &Directory<'_>, path: &str) -> Result<String> {
    let (names, more) = directory.first(MOST).map_err(|error| unreadable(path, &error))?;
    let mut lines: Vec<String> = names.iter().filter_map(|name| line(directory, name)).collect();
    if more > 0 {
        lines.push(format!("[{more} more entries are not shown]"));
    }
    Ok(if lines.is_empty() { format!("`{path}` is empty.") } else { lines.join("\n") })
}

/// `name/` for a directory, `name (1234 bytes)` for a file; nothing for what was removed meanwhile, and
/// for sockets, pipes and devices, with which there is nothing to do.
fn line(directory: &Directory<'_>, name: &CStr) -> Option<String> {
    let entry = directory.stat(name)?;
    let name = told(&name.to_string_lossy());
    match FileType::from_raw_mode(entry.st_mode) {
        FileType::Symlink => Some(format!("{name} (link)")),
        FileType::Directory => Some(format!("{name}/")),
        FileType::RegularFile => Some(format!("{name} ({} bytes)", entry.st_size)),
        _ => None,
    }
}
