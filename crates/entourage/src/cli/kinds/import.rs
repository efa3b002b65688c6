//! `entourage kinds import`: copies the agent files of another program to the kinds.

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use entourage::Settings;
use entourage_engine::kinds::{Finding, Severity, parse, read_text};
use serde::Serialize;

use crate::cli::{
    backend::Result,
    failure::{Exit, Failure},
    globals::Globals,
    out,
    text::text,
};

/// Larger files are not agents.
const MOST_BYTES: u64 = 1024 * 1024;

/// The result for one file.
#[derive(Serialize)]
struct Imported {
    file: String,
    /// Its kind; none if the file was left out.
    kind: Option<String>,
    /// Why it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Remarks on what entourage reads differently, and mistakes.
    findings: Vec<Finding>,
}

/// Copies each file of `from` that is a kind into the directory of kinds. Existing files stay.
pub(super) fn import(globals: &Globals, settings: &Settings, from: &Path) -> Result<Exit> {
    let to = settings.kinds_directory().unwrap_or_else(|| settings.data.join("kinds"));
    let (files, others) = found(from)?;
    // A file left out unread counts if it is named like a kind's file.
    let total = files.len() + others.iter().filter(|(path, _)| is_named_as_one(path)).count();
    if total == 0 {
        return Err(Failure::usage(format!("there is no *.md in {}", from.display())));
    }
    if !files.is_empty() {
        fs::create_dir_all(&to).map_err(|error| Failure::failed(format!("{}: {error}", to.display())))?;
    }
    let mut count = 0;
    for file in &files {
        let one = one(file, &to);
        count += usize::from(one.kind.is_some());
        if globals.json { out::json(&one)? } else { write(&one)? }
    }
    for (path, why) in others {
        let one = Imported {
            file: path.display().to_string(),
            kind: None,
            why: Some(why.into()),
            findings: Vec::new(),
        };
        if globals.json { out::json(&one)? } else { write(&one)? }
    }
    if !globals.json && !globals.quiet {
        out::note(format!("imported {count} of {total} files into {}", to.display()));
    }
    Ok(if count == total { Exit::Done } else { Exit::Failed })
}

/// Files that are not kinds, each with the reason.
type SkippedFiles = Vec<(PathBuf, &'static str)>;

/// The files that may be kinds, and the others in the directory.
fn found(from: &Path) -> Result<(Vec<PathBuf>, SkippedFiles)> {
    let unreadable = |error: std::io::Error| Failure::usage(format!("{}: {error}", from.display()));
    let entries = fs::read_dir(from).map_err(unreadable)?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let (mut files, mut others) = (Vec::new(), Vec::new());
    for path in paths {
        match reason_skipped(&path) {
            None => files.push(path),
            Some(why) => others.push((path, why)),
        }
    }
    Ok((files, others))
}

/// Why an entry of the directory is not read.
fn reason_skipped(path: &Path) -> Option<&'static str> {
    match fs::metadata(path) {
        Ok(is) if is.is_dir() => Some("is a directory; import it by its own name"),
        _ if !is_named_as_one(path) => Some("does not end in .md"),
        // A pipe or a device would never end.
        Ok(is) if !is.is_file() => Some("is not a regular file"),
        Ok(is) if is.len() > MOST_BYTES => Some("is larger than 1 MiB"),
        Ok(_) => None,
        Err(_) => Some("cannot be read"),
    }
}

fn is_named_as_one(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "md")
}

fn one(file: &Path, to: &Path) -> Imported {
    let shown = file.display().to_string();
    let left_out =
        |why: String, findings| Imported { file: shown.clone(), kind: None, why: Some(why), findings };
    let text = match read_text(file) {
        Ok(text) => text,
        Err(error) => return left_out(format!("cannot be read: {error}"), Vec::new()),
    };
    let (kind, findings) = parse(&shown, &text);
    let Some(kind) = kind else { return left_out("is no kind".into(), findings) };
    let target = to.join(format!("{}.md", kind.name));
    let made = OpenOptions::new().write(true).create_new(true).open(&target);
    match made.and_then(|mut made| made.write_all(text.as_bytes())) {
        Ok(()) => Imported { file: shown, kind: Some(kind.name), why: None, findings },
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            left_out(format!("{} already exists; remove it to replace it", target.display()), findings)
        }
        Err(error) => left_out(format!("{}: {error}", target.display()), findings),
    }
}

fn write(one: &Imported) -> Result<()> {
    let paint = out::stdout();
    match (&one.kind, &one.why) {
        (Some(kind), _) => {
            out::result(text![paint.green("✓"), " ", paint.bold(kind), " from ", &one.file])?;
        }
        (None, why) => {
            let why = why.as_deref().unwrap_or_default();
            out::result(text![paint.red("✗"), " ", &one.file, " is left out: ", why])?;
        }
    }
    for finding in &one.findings {
        let line = format!("    {finding}");
        let is_remark = finding.severity == Severity::Remark;
        out::result(if is_remark { paint.dim(line) } else { text![line] })?;
    }
    Ok(())
}
