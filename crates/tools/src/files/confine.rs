//! The one directory that file tools may read, and the way from a model's path into it.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use crate::{Error, Result};

/// The one directory that file tools may read. Its tools never write.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// A directory by its path. It is opened at each call, so it may come to exist later.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Whether the directory is there: for a check at start-up.
    ///
    /// # Errors
    /// [`Error::NotConfigured`] when it is not a directory that can be opened.
    pub fn check(&self) -> Result<()> {
        self.root().map(drop)
    }

    fn root(&self) -> Result<PathBuf> {
        let refuse = |why: String| {
            let root = self.root.display();
            Error::NotConfigured(format!("the directory `{root}` of the setting `tools.files` {why}"))
        };
        let root = self.root.canonicalize().map_err(|error| refuse(format!("cannot be opened: {error}")))?;
        if root.is_dir() { Ok(root) } else { Err(refuse("is a file; name a directory".to_owned())) }
    }

    /// Where a path of the model leads: an existing file or directory below the root, with all
    /// links followed. A program that changes links between this check and the reading could lead
    /// out; no tool of ours can change any.
    pub(super) fn find(&self, path: &str) -> Result<PathBuf> {
        let root = self.root()?;
        let found = root.join(relative(path)?).canonicalize().map_err(|error| unreadable(path, &error))?;
        if found.starts_with(&root) {
            Ok(found)
        } else {
            Err(Error::NotAllowed(format!("`{path}` is a link that leads out of the directory")))
        }
    }
}

/// The path with nothing in it that could lead up or out; an empty one is the directory itself.
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

/// What to say of a path that could not be opened or read.
pub(super) fn unreadable(path: &str, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Error::Failed(format!("there is no `{path}`. list_files shows what there is"))
        }
        _ => Error::Failed(format!("`{path}` cannot be read: {error}")),
    }
}

/// Runs work that blocks on the disk where it does not hold up others.
pub(super) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::Failed(format!("reading stopped: {error}"))),
    }
}
