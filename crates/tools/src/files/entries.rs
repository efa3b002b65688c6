//! What is in a directory, as far as agents are shown it.

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

/// How many entries are looked at for a few that are shown.
const LOOKED_AT: usize = 1_000;

/// A directory that a path has led to, read for as long as somebody waits for it.
pub(super) struct Directory<'a> {
    pub(super) bounds: &'a Bounds,
    pub(super) opened: OwnedFd,
    /// Its path below the top.
    pub(super) below: PathBuf,
    pub(super) abandoned: &'a CancellationToken,
}

impl Directory<'_> {
    /// The names in it, in no order. One that is not shown is `None`, for whoever counts them all.
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

    /// The first of the names that are shown, in their order, and how many more there are. Only these are
    /// kept: a directory may hold millions.
    pub(super) fn first(&self, most: usize) -> io::Result<(Vec<CString>, usize)> {
        // The last of them on top.
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

    /// The names that are shown, in their order, where they are few, and so is what must be looked at for them.
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

    /// What an entry is, links not followed; nothing where it was removed meanwhile.
    pub(super) fn stat(&self, name: &CStr) -> Option<Stat> {
        statat(&self.opened, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// The path of an entry below the top.
    pub(super) fn at(&self, name: &CStr) -> PathBuf {
        self.below.join(OsStr::from_bytes(name.to_bytes()))
    }
}

/// Whether there is anything to do with an entry: not with sockets, pipes and devices. Some file systems do
/// not say what an entry is.
fn is_of_use(file_type: FileType) -> bool {
    matches!(file_type, FileType::Symlink | FileType::Directory | FileType::RegularFile | FileType::Unknown)
}

/// A name or a path as it is told: on one line and in one direction, whatever it holds.
pub(super) fn told(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || turns(c) { '?' } else { c }).collect()
}

/// Whether a character ends a line, or turns the direction of those behind it.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
