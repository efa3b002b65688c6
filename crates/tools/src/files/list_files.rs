//! `list_files`: what a directory holds.

use std::{
    collections::BinaryHeap,
    ffi::{CString, OsStr},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use async_trait::async_trait;
use entourage_types::{Owner, ToolSpec};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Dir, FileType, statat},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Files,
    confine::{Bounds, Found, on_disk, unreadable},
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
        Found::Directory(directory, below) => entries(bounds, &directory, &below, path, abandoned),
        Found::Nothing if path != "." => {
            let top = list(bounds, ".", abandoned)?;
            Ok(format!("There is no `{}`. At the top there are:\n{top}", path.escape_debug()))
        }
        _ => Err(Error::Failed(format!("`{path}` is not a directory; read_file reads a file"))),
    }
}

/// Only what is shown is kept, and looked at: a directory may hold millions.
fn entries(
    bounds: &Bounds,
    directory: &OwnedFd,
    below: &Path,
    path: &str,
    abandoned: &CancellationToken,
) -> Result<String> {
    let failed = |error: rustix::io::Errno| unreadable(path, &error.into());
    // The first ones by name, the last of them on top.
    let mut first: BinaryHeap<CString> = BinaryHeap::new();
    let mut more = 0;
    for entry in Dir::read_from(directory).map_err(failed)? {
        if abandoned.is_cancelled() {
            return Err(Error::Failed(format!(
                "reading `{}` stopped: nobody waits for it",
                path.escape_debug()
            )));
        }
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let is_place = matches!(name.to_bytes(), b"." | b"..");
        if is_place
            || !is_shown(entry.file_type())
            || !bounds.shows(&below.join(OsStr::from_bytes(name.to_bytes())))
        {
            continue;
        }
        first.push(name.to_owned());
        if first.len() > MOST {
            first.pop();
            more += 1;
        }
    }
    let names = first.into_sorted_vec();
    let mut shown: Vec<String> = names.iter().filter_map(|name| line(directory, name)).collect();
    if more > 0 {
        shown.push(format!("[{more} more entries are not shown]"));
    }
    Ok(if shown.is_empty() { format!("`{path}` is empty.") } else { shown.join("\n") })
}

/// Whether there is anything to do with an entry: not with sockets, pipes and devices. Some file systems do
/// not say what an entry is.
fn is_shown(file_type: FileType) -> bool {
    matches!(file_type, FileType::Symlink | FileType::Directory | FileType::RegularFile | FileType::Unknown)
}

/// `name/` for a directory, `name (1234 bytes)` for a file; nothing for what was removed meanwhile, and
/// for sockets, pipes and devices, with which there is nothing to do.
fn line(directory: &OwnedFd, name: &std::ffi::CStr) -> Option<String> {
    let entry = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let name: String = name.to_string_lossy().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    match FileType::from_raw_mode(entry.st_mode) {
        FileType::Symlink => Some(format!("{name} (link)")),
        FileType::Directory => Some(format!("{name}/")),
        FileType::RegularFile => Some(format!("{name} ({} bytes)", entry.st_size)),
        _ => None,
    }
}
