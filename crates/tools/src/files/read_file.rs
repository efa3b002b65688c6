//! `read_file`: the lines of a text file.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
};

use async_trait::async_trait;
use entourage_types::{Owner, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Files,
    confine::{Found, on_disk, unreadable},
    entries::Directory,
    nearby,
};
use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::READ_FILE;
const MOST_BYTES: usize = 256 * 1024;
/// A NUL byte within so many bytes of a file's beginning means that the file is not text.
const SNIFF_BYTES: usize = 8 * 1024;
/// How far into a file reading may go: lines are counted from its beginning.
const FARTHEST: u64 = 64 * 1024 * 1024;

/// Reads a text file, at most 256 KiB at a time.
#[derive(Debug, Clone)]
pub struct ReadFile {
    files: Files,
}

impl ReadFile {
    /// Creates the tool for this directory.
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

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    fn serves(&self, owner: &Owner) -> bool {
        self.files.serve(owner)
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { path, offset_line, lines } = parse(NAME, arguments)?;
        let files = self.files.clone();
        let (first, most) = (offset_line.unwrap_or(1).max(1), lines.unwrap_or(u64::MAX).max(1));
        on_disk(move |abandoned| {
            let bounds = files.bounds()?;
            let file = match bounds.open(&path)? {
                Found::File(file) => file,
                Found::Nothing => return Err(nearby::no_file(&bounds, &path, &abandoned)),
                Found::Directory(opened, below) => {
                    let directory = Directory { bounds: &bounds, opened, below, abandoned: &abandoned };
                    return Err(nearby::directory_instead(&directory, &path));
                }
                Found::Other => {
                    return Err(Error::Failed(format!(
                        "`{path}` is not a file; list_files shows what there is"
                    )));
                }
            };
            let mut reader =
                BufReader::with_capacity(SNIFF_BYTES, PartialRead { file, left: FARTHEST, abandoned });
            if reader.fill_buf().map_err(|error| unreadable(&path, &error))?.contains(&0) {
                return Err(Error::Failed(format!("`{path}` is a binary file; only text can be read")));
            }
            read(reader, first, most).map_err(|error| unreadable(&path, &error))
        })
        .await
        .map(Outcome::text)
    }
}

/// A file that is read up to a limit, and only as long as the caller waits.
struct PartialRead {
    file: File,
    left: u64,
    abandoned: CancellationToken,
}

impl Read for PartialRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.abandoned.is_cancelled() {
            return Err(io::Error::other("nobody waits for it any more"));
        }
        if self.left == 0 && self.file.read(&mut [0])? > 0 {
            let most = FARTHEST >> 20;
            return Err(io::Error::other(format!("only the first {most} MiB of a file are read")));
        }
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let got = self.file.read(&mut buffer[..room])?;
        self.left -= got as u64;
        Ok(got)
    }
}

/// Returns the lines from `first` on, at most `most` of them and as many as fit, followed by how to read on.
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
