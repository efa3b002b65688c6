//! Lets one process at a time use a database: a lock on a file beside the database, released when the process
//! ends, however it ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use entourage_store::{Error, Result};

/// Holds the database for this process until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a program that is being started has a copy of its handle until it
        // runs.
        let _ = self.file.unlock();
    }
}

/// Takes the lock of the database at `path`, and writes this process's id into it for the message to a second
/// process.
pub(crate) fn take(path: &Path) -> Result<Lock> {
    let beside = beside(path);
    let mut file = private(&beside).map_err(|error| {
        let next = "Make it and its directory writable, or name another directory with --data";
        unusable(path, format!("{} cannot be written: {error}. {next}", beside.display()))
    })?;
    let locked = file.try_lock();
    free(path, &mut file, locked)?;
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(|error| unusable(path, format!("{} cannot be written: {error}", beside.display())))?;
    Ok(Lock { file })
}

/// Keeps other processes from taking the lock, if its file exists, without writing anything.
///
/// # Errors
/// [`Error::InUse`] if a process holds the lock; [`Error::Unusable`] if that cannot be found out.
pub(crate) fn share(path: &Path) -> Result<Option<Lock>> {
    let mut file = match File::open(beside(path)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let why = "cannot be read, so whether another entourage works on the database is not known";
            return Err(unusable(path, format!("{} {why}: {error}", beside(path).display())));
        }
    };
    let locked = file.try_lock_shared();
    free(path, &mut file, locked)?;
    Ok(Some(Lock { file }))
}

/// Whether the lock of the database at `path` was taken once, by a process that holds it no longer.
pub(crate) fn is_abandoned(path: &Path) -> bool {
    File::open(beside(path)).is_ok_and(|file| file.try_lock().is_ok())
}

/// Returns an error if another process holds the lock of this file, given the result of locking it.
fn free(path: &Path, file: &mut File, locked: std::result::Result<(), TryLockError>) -> Result<()> {
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
            let holder = if known { format!(" (pid {})", holder.trim()) } else { String::new() };
            Err(Error::InUse { path: path.display().to_string(), holder })
        }
        Err(TryLockError::Error(error)) => {
            Err(unusable(path, format!("{} cannot be locked: {error}", beside(path).display())))
        }
    }
}

/// Checks that the files beside the database at `path` can be created and written, as far as the disk allows
/// it. Leaves no file.
pub(crate) fn can_be_written(path: &Path) -> std::io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    tempfile::tempfile_in(directory.unwrap_or(Path::new(".")))?;
    for beside in [beside(path), crate::open::log(path), crate::open::shared(path)] {
        match OpenOptions::new().write(true).open(beside) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn unusable(path: &Path, why: String) -> Error {
    Error::Unusable { path: path.display().to_string(), why }
}

/// Opens a file for writing. A new file is accessible to its owner only, because what agents write is
/// private.
pub(crate) fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that this process is starting meanwhile does not keep the lock.
    #[test]
    fn a_released_lock_is_free_even_if_its_file_handle_was_copied() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("entourage.db");
        let lock = take(&path).unwrap();
        let _copy = lock.file.try_clone().unwrap();
        assert!(matches!(take(&path), Err(Error::InUse { .. })));
        drop(lock);
        take(&path).unwrap();
    }
}
