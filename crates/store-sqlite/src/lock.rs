//! Lets one process at a time use a database: a lock on a file beside the database, released when the process
//! ends, however it ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{ErrorKind, Read, Seek, Write},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use entourage_store::{Error, Result};

/// How long the lock of a process that has ended is waited for.
const ENDED: Duration = Duration::from_secs(2);
/// How long the lock of a process that still exists is waited for: one that was killed exists until its parent has waited
/// for it.
const THERE: Duration = Duration::from_millis(50);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

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
    lock(path, &mut file, File::try_lock)?;
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
    lock(path, &mut file, File::try_lock_shared)?;
    Ok(Some(Lock { file }))
}

/// Whether the lock of the database at `path` was taken once, by a process that holds it no longer.
pub(crate) fn is_abandoned(path: &Path) -> bool {
    File::open(beside(path)).is_ok_and(|file| file.try_lock().is_ok())
}

/// Locks the file by `attempt`, unless another process holds it.
///
/// A process that is killed while it starts a program leaves the lock to a copy of its handle, until that program
/// runs: who is started at once in its place waits for that.
fn lock(
    path: &Path,
    file: &mut File,
    attempt: fn(&File) -> std::result::Result<(), TryLockError>,
) -> Result<()> {
    let since = Instant::now();
    loop {
        match attempt(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => {
                return Err(unusable(path, format!("{} cannot be locked: {error}", beside(path).display())));
            }
            Err(TryLockError::WouldBlock) => {}
        }
        let holder = holder(file);
        let patience = if holder.is_none_or(is_alive) { THERE } else { ENDED };
        if since.elapsed() >= patience {
            let holder = holder.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            return Err(Error::InUse { path: path.display().to_string(), holder });
        }
        sleep(PAUSE);
    }
}

/// The id of the process that took the lock last.
fn holder(file: &mut File) -> Option<i32> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    text.trim().parse().ok()
}

/// Whether this process, perhaps of another user, has not ended.
#[cfg(unix)]
fn is_alive(pid: i32) -> bool {
    use rustix::{io::Errno, process};
    let tested = process::Pid::from_raw(pid).map(process::test_kill_process);
    tested.is_none_or(|tested| tested != Err(Errno::SRCH))
}

#[cfg(not(unix))]
fn is_alive(_: i32) -> bool {
    true
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

    /// A program that a killed process was starting keeps the lock for a moment only.
    #[test]
    #[cfg(unix)]
    fn a_copied_file_handle_of_a_killed_process_is_waited_for() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("entourage.db");
        let mut killed = std::process::Command::new("true").spawn().unwrap();
        killed.wait().unwrap();
        let lock = take(&path).unwrap();
        std::fs::write(beside(&path), killed.id().to_string()).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| share(&path).map(drop).and_then(|()| take(&path)));
            // Long enough for several attempts, which all find it held.
            sleep(PAUSE * 10);
            assert!(!waits.is_finished(), "it does not wait");
            drop(lock);
            waits.join().unwrap().unwrap();
        });
    }
}
