//! The one directory that file tools may read, and how a model's path is resolved in it.
//!
//! A path is resolved with all its links, and the result is opened component by component from the directory
//! down, without following links: a link that changes in between leads nowhere.

use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use entourage_types::Owner;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use tokio_util::sync::CancellationToken;

use super::{FilesSettings, entries::display_name, secret::is_secret};
use crate::{Error, Owners, Result};

/// The one directory that file tools may read. Its tools never write.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
    hidden: bool,
    owners: Owners,
    /// Paths that are never read, wherever they are.
    never: Vec<PathBuf>,
}

/// What a path refers to.
pub(super) enum Found {
    /// Nothing exists at the path.
    Nothing,
    /// A directory, and its path below the root.
    Directory(OwnedFd, PathBuf),
    /// A regular file.
    File(File),
    /// A pipe, a socket or a device.
    Other,
}

impl Files {
    /// Creates the access to a directory. It is opened at each call, so it may be created later.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::of(FilesSettings::new(root))
    }

    /// Creates the access to a directory from its settings.
    #[must_use]
    pub fn of(settings: FilesSettings) -> Self {
        let FilesSettings { path, hidden, owners, never } = settings;
        Self { root: path, hidden, owners: owners.unwrap_or(Owners::All), never }
    }

    /// Checks that the directory exists, for validation at start-up.
    ///
    /// # Errors
    /// [`Error::NotConfigured`] when it is not a directory that can be opened, or is one that must not be
    /// read.
    pub fn check(&self) -> Result<()> {
        let bounds = self.bounds()?;
        bounds.root.read_dir().map(drop).map_err(|error| self.refuse(&format!("cannot be read: {error}")))
    }

    fn refuse(&self, why: &str) -> Error {
        let root = self.root.display();
        Error::NotConfigured(format!(
            "the directory `{root}` of `--files` or the setting `tools.files` {why}"
        ))
    }

    /// Whether this owner's agents may read it.
    pub(super) fn serve(&self, owner: &Owner) -> bool {
        self.owners.include(owner)
    }

    /// Returns its current location, and what must not be read in it.
    pub(super) fn bounds(&self) -> Result<Bounds> {
        let opened = self.root.canonicalize();
        let root = opened.map_err(|error| self.refuse(&format!("cannot be opened: {error}")))?;
        if !root.is_dir() {
            return Err(self.refuse("is a file; name a directory"));
        }
        let kept: Vec<PathBuf> = self.never.iter().filter_map(|path| path.canonicalize().ok()).collect();
        if kept.contains(&root) {
            return Err(self.refuse("holds this program's own data; name a directory below or beside it"));
        }
        // A protected path above the directory does not restrict it: the operator has named a part of it.
        let kept = kept.into_iter().filter(|kept| kept.starts_with(&root)).collect();
        Ok(Bounds { root, kept, hidden: self.hidden })
    }
}

/// The state of the directory during one call.
pub(super) struct Bounds {
    root: PathBuf,
    kept: Vec<PathBuf>,
    hidden: bool,
}

impl Bounds {
    /// Opens the target of a model's path: something below the root, with all links followed.
    pub(super) fn open(&self, path: &str) -> Result<Found> {
        let asked = relative(path)?;
        self.check_visible(path, &asked)?;
        let found = match self.root.join(&asked).canonicalize() {
            Ok(found) => found,
            Err(_) if self.escapes_root(&asked) => return Err(led_astray(path)),
            Err(error) if is_missing(&error) => return Ok(Found::Nothing),
            Err(error) => return Err(unreadable(path, &error)),
        };
        let Ok(below) = found.strip_prefix(&self.root) else { return Err(led_astray(path)) };
        if self.check_visible(path, below).is_err() {
            return Err(led_astray(path));
        }
        match open_below(&self.root, below) {
            Err(error) if is_missing(&error) => Ok(Found::Nothing),
            found => found.map_err(|error| unreadable(path, &error)),
        }
    }

    /// Whether a link on the way to a path leads to something that may not be read.
    fn escapes_root(&self, asked: &Path) -> bool {
        let mut way = self.root.clone();
        for part in asked.components() {
            way.push(part);
            let Ok(entry) = way.symlink_metadata() else { return false };
            let leads_inside = || {
                let found = way.canonicalize().ok()?;
                self.check_visible("", found.strip_prefix(&self.root).ok()?).ok()
            };
            if entry.is_symlink() && leads_inside().is_none() {
                return true;
            }
        }
        false
    }

    /// Whether an entry of a directory is shown.
    pub(super) fn shows(&self, below: &Path) -> bool {
        self.check_visible("", below).is_ok()
    }

    fn check_visible(&self, path: &str, below: &Path) -> Result<()> {
        if !self.hidden && is_secret(below) {
            return Err(Error::NotAllowed(format!(
                "`{}` is hidden, or may hold keys or passwords, and is not read. Only the operator can allow it, \
                 by the setting `tools.files.hidden`",
                display_name(path)
            )));
        }
        if self.kept.iter().any(|kept| self.root.join(below).starts_with(kept)) {
            return Err(Error::NotAllowed(format!(
                "`{}` belongs to this program itself and is not read",
                display_name(path)
            )));
        }
        Ok(())
    }
}

/// Opens a path without links. Fails if a component has become a link since.
fn open_below(root: &Path, below: &Path) -> io::Result<Found> {
    let directory = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let mut at = openat(CWD, root, directory, Mode::empty())?;
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        let name = part.as_os_str();
        let kind = FileType::from_raw_mode(statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        if parts.peek().is_some() || kind == FileType::Directory {
            at = openat(&at, name, directory | OFlags::NOFOLLOW, Mode::empty())?;
            continue;
        }
        // The type is checked before opening, which a device may treat as a command, and again after: with
        // `NONBLOCK`, opening a pipe that was created since does not wait for its writer.
        if kind != FileType::RegularFile {
            return Ok(Found::Other);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = openat(&at, name, flags, Mode::empty())?;
        let is_file = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile;
        return Ok(if is_file { Found::File(file.into()) } else { Found::Other });
    }
    Ok(Found::Directory(at, below.to_owned()))
}

/// Returns the path if nothing in it can lead up or out; an empty path is the directory itself.
fn relative(path: &str) -> Result<PathBuf> {
    let refuse = |why: &str| {
        let path = path.escape_debug();
        Err(Error::NotAllowed(format!(
            "`{path}` {why}. Give a path below the directory, as list_files shows it"
        )))
    };
    if path.contains('\0') {
        return refuse("holds a NUL character");
    }
    let mut relative = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => relative.push(name),
            Component::CurDir => {}
            Component::ParentDir => return refuse("holds `..`"),
            Component::RootDir | Component::Prefix(_) => return refuse("is absolute"),
        }
    }
    Ok(relative)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the error for a path with a link that leads out of the directory, or to something that may not be
/// read or does not exist: the same for all, so that links reveal nothing about what exists elsewhere.
fn led_astray(path: &str) -> Error {
    Error::NotAllowed(format!(
        "`{}` is, or lies behind, a link to something that you may not read: you may read only what is in \
         this directory and not hidden",
        display_name(path)
    ))
}

/// Returns the error for a path that could not be opened or read.
pub(super) fn unreadable(path: &str, error: &io::Error) -> Error {
    Error::Failed(format!("`{}` cannot be read: {error}", path.escape_debug()))
}

/// Runs blocking disk work on a thread where it does not delay others. Cancels the token when the caller no
/// longer waits.
pub(super) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce(CancellationToken) -> Result<T> + Send + 'static,
) -> Result<T> {
    let abandoned = CancellationToken::new();
    let _waiting = abandoned.clone().drop_guard();
    match tokio::task::spawn_blocking(move || work(abandoned)).await {
        Ok(result) => result,
        Err(error) => Err(Error::Failed(format!("reading stopped: {error}"))),
    }
}
