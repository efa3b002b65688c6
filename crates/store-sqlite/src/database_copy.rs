//! Copies a database that cannot be written, such as one on a read-only disk, to where it can: a reader takes
//! a lock, too, and what a killed process left in the log is recovered only by writing.

use std::{
    fs::OpenOptions,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::Duration,
};

use entourage_store::{Error, Result};
use tempfile::TempDir;

use crate::{
    lock::{self, Lock},
    open,
};

/// A copy of a database, deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct DatabaseCopy {
    pub(crate) path: PathBuf,
    /// Shows other processes that the copy is in use.
    pub(crate) held: Lock,
    pub(crate) directory: TempDir,
}

/// The minimum age at which a copy is deleted if no process holds its lock: before, a process may be about to
/// take it.
const FRESH: Duration = Duration::from_secs(60);

/// The file name of a copy in its directory.
const COPY: &str = "entourage.db";

/// Whether a database exists at `path`, but it or the files beside it cannot be written.
pub(crate) fn is_needed(path: &Path) -> bool {
    let opened = OpenOptions::new().write(true).open(path).and_then(|_| lock::can_be_written(path));
    let denied = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
    };
    opened.is_err_and(|error| denied(&error))
}

/// Copies the database at `path`, its log included, into a temporary directory.
pub(crate) fn copied(path: &Path) -> Result<DatabaseCopy> {
    // No process that can write there may have the database open.
    let _lock = lock::share(path)?;
    let unusable = |at: &Path, why: String| Error::Unusable { path: at.display().to_string(), why };
    sweep();
    let directory = open::temporary()?;
    let copy = directory.path().join(COPY);
    let held = lock::take(&copy)?;
    for (from, to) in [(path.to_owned(), copy.clone()), (open::log(path), open::log(&copy))] {
        match std::fs::File::open(&from) {
            Ok(mut file) => {
                let copied = lock::private(&to).and_then(|mut to| io::copy(&mut file, &mut to));
                let why = "it cannot be written, and no copy of it to read can be made at";
                copied.map_err(|error| unusable(path, format!("{why} {}: {error}", to.display())))?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound && from != path => {}
            Err(error) => return Err(unusable(&from, format!("it cannot be read: {error}"))),
        }
    }
    Ok(DatabaseCopy { path: copy, held, directory })
}

/// Deletes what killed processes have left: the copies whose lock no process holds any more. What cannot be
/// deleted, or belongs to another user, stays.
fn sweep() {
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(open::TEMPORARY));
    for directory in ours.map(|entry| entry.path()) {
        let is_old = || {
            let changed = directory.metadata().and_then(|directory| directory.modified()).ok()?;
            Some(changed.elapsed().ok()? > FRESH)
        };
        if is_old() == Some(true) && lock::is_abandoned(&directory.join(COPY)) {
            let _ = std::fs::remove_dir_all(&directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_copy_includes_the_log_of_a_killed_process() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("entourage.db");
        let connection = open::writer(&path, None, true).unwrap();
        connection.execute("INSERT INTO probe (filler) VALUES (x'01')", []).unwrap();
        assert!(open::log(&path).metadata().unwrap().len() > 0);

        let aside = copied(&path).unwrap();
        let copy = Connection::open(&aside.path).unwrap();
        let rows: u32 = copy.query_row("SELECT count(*) FROM probe", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
        drop((copy, aside.directory));
        assert!(!aside.path.exists(), "it goes with its directory");
    }

    #[test]
    fn the_next_sweep_removes_the_copy_of_a_killed_process() {
        let left = open::temporary().unwrap().keep();
        std::fs::write(left.join("entourage.db"), "part of a copy").unwrap();
        let held = lock::take(&left.join("entourage.db")).unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * FRESH;
        let age =
            || std::fs::File::open(&left).and_then(|directory| directory.set_modified(long_ago)).unwrap();
        age();
        sweep();
        assert!(left.exists(), "somebody needs it");
        drop(held);
        sweep();
        assert!(!left.exists());
    }

    #[test]
    fn a_database_that_a_process_has_open_is_not_copied() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("entourage.db");
        std::fs::write(&path, "").unwrap();
        assert!(copied(&path).is_ok(), "nobody has it open");
        let _lock = lock::take(&path).unwrap();
        assert!(matches!(copied(&path), Err(Error::InUse { .. })));
    }
}
