//! Suggests existing paths if a path leads to no file, so that a model that guessed the path finds the right
//! one.

use std::{cmp::Reverse, io, path::Path};

use rustix::fs::FileType;
use tokio_util::sync::CancellationToken;

use super::{
    confine::{Bounds, Found, unreadable},
    entries::{Directory, display_name},
};
use crate::Error;

/// How many names are suggested.
const MOST: usize = 20;
/// From how many names they are chosen.
const CHOICE: usize = 500;
/// How many entries are examined for a file of the same name.
const LOOKED_AT: usize = 5_000;
/// How many levels below the root are searched: each directory is opened by its whole path, whose cost grows
/// with its length.
const DEEP: usize = 16;

/// Returns the error that nothing exists at a path, with a suggestion: the file of the same name, if there is
/// exactly one, otherwise the contents of the intended directory.
pub(super) fn no_file(bounds: &Bounds, path: &str, abandoned: &CancellationToken) -> Error {
    let instead = match namesake(bounds, path, abandoned) {
        Some(namesake) => format!("there is {namesake}"),
        None => match around(bounds, path, abandoned) {
            Some(names) => format!("there are: {names}"),
            None => "there are none".to_owned(),
        },
    };
    Error::Failed(format!("there is no file `{}`; {instead}", display_name(path)))
}

/// Returns the error that a path is a directory, with its contents.
pub(super) fn directory_instead(directory: &Directory<'_>, path: &str) -> Error {
    let inside = match names(directory, "") {
        Ok(Some(names)) => format!("in it there are: {names}"),
        Ok(None) => "there is nothing in it".to_owned(),
        Err(error) => return unreadable(path, &error),
    };
    Error::Failed(format!("`{}` is a directory; {inside}", display_name(path)))
}

/// Returns the only file below the root with the last name of this path, ignoring case, down to [`DEEP`].
/// Returns none if there are several, or too many entries to know.
fn namesake(bounds: &Bounds, path: &str, abandoned: &CancellationToken) -> Option<String> {
    let sought = Path::new(path).file_name()?.to_str()?.to_lowercase();
    let mut found = None;
    let mut looked_at = 0;
    let mut directories = vec![String::new()];
    while let Some(next) = directories.pop() {
        // A directory that cannot be opened contains nothing readable.
        let Ok(Found::Directory(opened, below)) = bounds.open(&next) else { continue };
        let directory = Directory { bounds, opened, below, abandoned };
        for name in directory.names().ok()? {
            looked_at += 1;
            if looked_at > LOOKED_AT {
                return None;
            }
            let Some(name) = name.ok()? else { continue };
            let Some(stat) = directory.stat(&name) else { continue };
            let at = directory.at(&name);
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind == FileType::Directory && at.components().count() <= DEEP {
                directories.extend(at.to_str().map(str::to_owned));
            }
            let is_one = kind == FileType::RegularFile && name.to_string_lossy().to_lowercase() == sought;
            if is_one && found.replace(display_name(&at.to_string_lossy())).is_some() {
                return None;
            }
        }
    }
    found
}

/// Returns the contents of the nearest directory on the way to a path that is not empty and not deeper than
/// [`DEEP`].
fn around(bounds: &Bounds, path: &str, abandoned: &CancellationToken) -> Option<String> {
    let path = Path::new(path);
    let beyond = path.components().count().saturating_sub(DEEP);
    path.ancestors().skip(beyond.max(1)).find_map(|way| {
        let Ok(Found::Directory(opened, below)) = bounds.open(way.to_str()?) else { return None };
        let rest = path.strip_prefix(way).ok()?.to_str()?;
        names(&Directory { bounds, opened, below, abandoned }, rest).ok().flatten()
    })
}

/// Returns the names in a directory, as paths below the root, those with the longest prefix in common with
/// `like` first. Returns none if there are none.
fn names(directory: &Directory<'_>, like: &str) -> io::Result<Option<String>> {
    let (first, beyond) = directory.first(CHOICE)?;
    let mut known: Vec<(usize, String)> = first
        .iter()
        .filter_map(|name| {
            let end = match FileType::from_raw_mode(directory.stat(name)?.st_mode) {
                FileType::Directory => "/",
                FileType::RegularFile | FileType::Symlink => "",
                _ => return None,
            };
            Some((
                alike(&name.to_string_lossy(), like),
                display_name(&directory.at(name).to_string_lossy()) + end,
            ))
        })
        .collect();
    // The sort is stable: equally similar names stay in order.
    known.sort_by_key(|(alike, _)| Reverse(*alike));
    let more = beyond + known.len().saturating_sub(MOST);
    let paths: Vec<String> = known.into_iter().take(MOST).map(|(_, path)| path).collect();
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    Ok((!paths.is_empty()).then(|| paths.join(", ") + &rest))
}

/// Returns the length of the common prefix of two names, ignoring case.
fn alike(name: &str, other: &str) -> usize {
    let (name, other) = (name.to_lowercase(), other.to_lowercase());
    name.chars().zip(other.chars()).take_while(|(one, two)| one == two).count()
}
