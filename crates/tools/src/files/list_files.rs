//! `list_files`: what a directory holds.

use std::fs::{self, DirEntry};

use async_trait::async_trait;
use entourage_types::ToolSpec;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Files,
    confine::{on_disk, unreadable},
};
use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse, spec_of};

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
        Some(spec_of::<Arguments>(NAME, "List the files and subdirectories of a directory, one level."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { path } = parse(NAME, arguments)?;
        let files = self.files.clone();
        on_disk(move || list(&files, path.as_deref().unwrap_or("."))).await.map(Outcome::text)
    }
}

fn list(files: &Files, path: &str) -> Result<String> {
    let dir = files.find(path)?;
    if !dir.is_dir() {
        return Err(Error::Failed(format!("`{path}` is not a directory; read_file reads a file")));
    }
    let entries = fs::read_dir(dir).map_err(|error| unreadable(path, &error))?;
    let mut entries: Vec<DirEntry> = entries.filter_map(std::io::Result::ok).filter(is_shown).collect();
    if entries.is_empty() {
        return Ok(format!("`{path}` is empty."));
    }
    entries.sort_by_cached_key(DirEntry::file_name);
    let mut lines: Vec<String> = entries.iter().take(MOST).filter_map(line).collect();
    if let more @ 1.. = entries.len().saturating_sub(MOST) {
        lines.push(format!("[{more} more entries are not shown]"));
    }
    Ok(lines.join("\n"))
}

/// Whether there is anything to do with it: not with sockets, pipes and devices.
fn is_shown(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir() || kind.is_symlink())
}

/// `name/` for a directory, `name (1234 bytes)` for a file; nothing for what was removed meanwhile.
fn line(entry: &DirEntry) -> Option<String> {
    let name: String =
        entry.file_name().to_string_lossy().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let kind = entry.file_type().ok()?;
    Some(if kind.is_symlink() {
        format!("{name} (link)")
    } else if kind.is_dir() {
        format!("{name}/")
    } else {
        format!("{name} ({} bytes)", entry.metadata().ok()?.len())
    })
}
