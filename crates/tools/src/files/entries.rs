//! The entries of a directory that agents may see.

use std::{
    collections::BinaryHeap,
    ffi::{CStr, CString, OsStr},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::PathBuf,
};

use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};
use tokio_util::sync::CancellationToken;

use super::confine::Bounds;

/// How many entries to examine for the few that are shown.
const LOOKED_AT: usize = 1_000;

/// An opened directory, read as long as the caller waits.
pub(super) struct Directory<'a> {
    pub(super) bounds: &'a Bounds,
    pub(super) opened: OwnedFd,
    /// Its path below the root.
    pub(super) below: PathBuf,
    pub(super) abandoned: &'a CancellationToken,
}

impl Directory<'_> {
    /// Returns the names in it, unordered. A hidden one is `None`, so that callers can count all entries.
    pub(super) fn names(&self) -> io::Result<impl Iterator<Item = io::Result<Option<CString>>>> {
        let entries = Dir::read_from(&self.opened)?;
        Ok(entries.map(move |entry| -> io::Result<Option<CString>> {
            if self.abandoned.is_cancelled() {
                return Err(io::Error::other("nobody waits for it any more"));
            }
            let entry = entry?;
            let name = entry.file_name();
            let is_place = matches!(name.to_bytes(), b"." | b"..");
            let is_shown = !is_place && is_of_use(entry.file_type()) && self.bounds.shows(&self.at(name));
            Ok(is_shown.then(|| name.to_owned()))
        }))
    }

    /// Returns the first visible names, sorted, and how many more there are. Keeps only these in memory: a
    /// directory may hold millions.
    pub(super) fn first(&self, most: usize) -> io::Result<(Vec<CString>, usize)> {
        // A max-heap: the last name is on top.
        let mut first: BinaryHeap<CString> = BinaryHeap::new();
        let mut more = 0;
        for name in self.names()? {
            first.extend(name?);
            if first.len() > most {
                first.pop();
                more += 1;
            }
        }
        Ok((first.into_sorted_vec(), more))
    }

    /// Returns the visible names, sorted, if they are few, and few entries must be examined for them.
    pub(super) fn few(&self, most: usize) -> Option<Vec<CString>> {
        let mut few = Vec::new();
        for (looked_at, name) in self.names().ok()?.enumerate() {
            few.extend(name.ok()?);
            if few.len() > most || looked_at > LOOKED_AT {
                return None;
            }
        }
        few.sort();
        Some(few)
    }

    /// Returns the metadata of an entry without following links; none if it was removed meanwhile.
    pub(super) fn stat(&self, name: &CStr) -> Option<Stat> {
        statat(&self.opened, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// Returns the path of an entry below the root.
    pub(super) fn at(&self, name: &CStr) -> PathBuf {
        self.below.join(OsStr::from_bytes(name.to_bytes()))
    }
}

/// Whether an entry is useful: sockets, pipes and devices are not. Some file systems do not report the type.
fn is_of_use(file_type: FileType) -> bool {
    matches!(file_type, FileType::Symlink | FileType::Directory | FileType::RegularFile | FileType::Unknown)
}

/// Returns a name or a path for display: on one line and in one text direction, whatever it contains.
pub(super) fn display_name(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || turns(c) { '?' } else { c }).collect()
}

/// Whether a character ends a line, or changes the text direction.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
