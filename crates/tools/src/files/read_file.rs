//! `read_file`: the lines of a text file.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
};

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

const NAME: &str = "read_file";
const MOST_BYTES: usize = 256 * 1024;
/// How far into a file a NUL byte tells that it is not text.
const SNIFF_BYTES: usize = 8 * 1024;

/// Reads a text file, at most 256 KiB at a time.
#[derive(Debug, Clone)]
pub struct ReadFile {
    files: Files,
}

impl ReadFile {
    /// The tool for this directory.
    #[must_use]
    pub fn new(files: Files) -> Self {
        Self { files }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The file, as list_files shows it, with its directory: `docs/plan.md`.
    path: String,
    /// The line to start at; the first is 1.
    #[serde(default)]
    offset_line: Option<u64>,
    /// How many lines at most; as many as fit when not given.
    #[serde(default)]
    lines: Option<u64>,
}

#[async_trait]
impl Tool for ReadFile {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>(NAME, "Read a text file. A long one is read in parts."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { path, offset_line, lines } = parse(NAME, arguments)?;
        let files = self.files.clone();
        let (first, most) = (offset_line.unwrap_or(1).max(1), lines.unwrap_or(u64::MAX).max(1));
        on_disk(move || {
            let found = files.find(&path)?;
            // Asked before opening: opening a pipe would wait for its writer.
            if !found.is_file() {
                return Err(Error::Failed(format!("`{path}` is not a file; list_files shows what there is")));
            }
            let mut reader = BufReader::with_capacity(
                SNIFF_BYTES,
                File::open(found).map_err(|error| unreadable(&path, &error))?,
            );
            if reader.fill_buf().map_err(|error| unreadable(&path, &error))?.contains(&0) {
                return Err(Error::Failed(format!("`{path}` is a binary file; only text can be read")));
            }
            read(reader, first, most).map_err(|error| unreadable(&path, &error))
        })
        .await
        .map(Outcome::text)
    }
}

/// The lines from `first` on, at most `most` of them and as many as fit; then how to read on.
fn read(mut reader: impl BufRead, first: u64, most: u64) -> io::Result<String> {
    for line in 1..first {
        if reader.skip_until(b'\n')? == 0 {
            return Ok(format!("[the file has only {} lines]", line - 1));
        }
    }
    let mut text = Vec::new();
    let mut next = first;
    let mut notes = String::new();
    let mut more = false;
    while next - first < most && !at_end(&mut reader)? {
        let start = text.len();
        let room = (MOST_BYTES - start) as u64;
        let got = reader.by_ref().take(room).read_until(b'\n', &mut text)?;
        if got > 0 && text.ends_with(b"\n") || at_end(&mut reader)? {
            next += 1;
        } else if start > 0 {
            text.truncate(start);
            more = true;
            break;
        } else {
            notes = format!("\n[line {next} is longer than {MOST_BYTES} bytes; its rest cannot be read]");
            reader.skip_until(b'\n')?;
            next += 1;
            break;
        }
    }
    if next == first {
        return Ok(match first {
            1 => "[the file is empty]".to_owned(),
            _ => format!("[the file has only {} lines]", first - 1),
        });
    }
    if more || !at_end(&mut reader)? {
        let last = next - 1;
        notes.push_str(&format!(
            "\n[lines {first} to {last}; there is more: read on with offset_line {next}]"
        ));
    }
    Ok(String::from_utf8_lossy(&text).into_owned() + &notes)
}

fn at_end(reader: &mut impl BufRead) -> io::Result<bool> {
    Ok(reader.fill_buf()?.is_empty())
}
