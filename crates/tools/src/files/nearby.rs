//! What there is where a path leads to no file: whoever made the path up finds the right one by it.

use std::{cmp::Reverse, io, path::Path};

use rustix::fs::FileType;
use tokio_util::sync::CancellationToken;

use super::{
    confine::{Bounds, Found, unreadable},
    entries::{Directory, told},
};
use crate::Error;

/// How many names are told.
const MOST: usize = 20;
/// Among how many they are chosen.
const CHOICE: usize = 500;
/// How many entries are looked at for a file of the same name.
const LOOKED_AT: usize = 5_000;
/// How many directories below the top are looked into, one in the other: each is opened by its whole path, which
/// costs as much as the path is long.
const DEEP: usize = 16;

/// That nothing is there, and what there is instead: the file of the same name, where there is one only,
/// otherwise what is in the directory that was meant.
pub(super) fn no_file(bounds: &Bounds, path: &str, abandoned: &CancellationToken) -> Error {
    let instead = match namesake(bounds, path, abandoned) {
        Some(namesake) => format!("there is {namesake}"),
        None => match around(bounds, path, abandoned) {
            Some(names) => format!("there are: {names}"),
            None => "there are none".to_owned(),
        },
    };
    Error::Failed(format!("there is no file `{}`; {instead}", told(path)))
}

/// That it is a directory, and what is in it.
pub(super) fn directory_instead(directory: &Directory<'_>, path: &str) -> Error {
    let inside = match names(directory, "") {
        Ok(Some(names)) => format!("in it there are: {names}"),
        Ok(None) => "there is nothing in it".to_owned(),
        Err(error) => return unreadable(path, &error),
    };
    Error::Failed(format!("`{}` is a directory; {inside}", told(path)))
}

/// The only file below the top that has the name at the end of this path, in whatever case, down to [`DEEP`]. None
/// where there are more, and where so much is there that it is not known.
fn namesake(bounds: &Bounds, path: &str, abandoned: &CancellationToken) -> Option<String> {
    let sought = Path::new(path).file_name()?.to_str()?.to_lowercase();
    let mut found = None;
    let mut looked_at = 0;
    let mut directories = vec![String::new()];
    while let Some(next) = directories.pop() {
        // What cannot be opened holds nothing that could be read.
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
            if is_one && found.replace(told(&at.to_string_lossy())).is_some() {
                return None;
            }
        }
    }
    found
}

/// What is in the nearest directory on the way to a path, of those that have something in them and are not
/// deeper than [`DEEP`].
fn around(bounds: &Bounds, path: &str, abandoned: &CancellationToken) -> Option<String> {
    let path = Path::new(path);
    let beyond = path.components().count().saturating_sub(DEEP);
    path.ancestors().skip(beyond.max(1)).find_map(|way| {
        let Ok(Found::Directory(opened, below)) = bounds.open(way.to_str()?) else { return None };
        let rest = path.strip_prefix(way).ok()?.to_str()?;
        names(&Directory { bounds, opened, below, abandoned }, rest).ok().flatten()
    })
}

/// The names in a directory, as paths below the top, those first that begin most like this one. Nothing
/// where there are none.
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
            Some((alike(&name.to_string_lossy(), like), told(&directory.at(name).to_string_lossy()) + end))
        })
        .collect();
    // Those that are equally alike stay in the order of their names.
    known.sort_by_key(|(alike, _)| Reverse(*alike));
    let more = beyond + known.len().saturating_sub(MOST);
    let paths: Vec<String> = known.into_iter().take(MOST).map(|(_, path)| path).collect();
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    Ok((!paths.is_empty()).then(|| paths.join(", ") + &rest))
}

/// How many letters two names begin with alike.
fn alike(name: &str, other: &str) -> usize {
    let (name, other) = (name.to_lowercase(), other.to_lowercase());
    name.chars().zip(other.chars()).take_while(|(one, two)| one == two).count()
}
