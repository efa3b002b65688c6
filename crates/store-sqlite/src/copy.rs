//! Copies a database while other processes write to it: one snapshot of it, in one file.

use std::{fs::File, path::Path, thread, time::Duration};

use entourage_store::{Error, Result, database::Copied};
use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

use crate::{database_copy, fault::Fault, open, rows};

/// How often the caller gets the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Copies the database at `from` into a new file at `to`, even while another process has it open and writes
/// to it; neither waits for the other. The copy contains what was committed before the call, only whole
/// commits, and has the version of the original. `to` exists only once the copy has been checked and is on
/// the disk. Returns the size of the copy in bytes.
///
/// Blocks the thread for as long as the disk needs.
///
/// # Errors
/// [`Error::Unusable`] if `from` is not a database of this program, or `to` exists already or cannot be
/// written; [`Error::DiskFull`] if the copy does not fit. No file is left then.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>, on_progress: impl FnMut(Copied)) -> Result<u64> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let refuse = |path: &Path, why: String| Error::Unusable { path: path.display().to_string(), why };
    if !from.exists() {
        return Err(refuse(from, "there is no database yet".to_owned()));
    }
    let there = || refuse(to, "it is there already. Name another file, or move it away".to_owned());
    if to.exists() {
        return Err(there());
    }
    let replica = if database_copy::is_needed(from) { Some(database_copy::copied(from)?) } else { None };
    let connection = open::visitor(replica.as_ref().map_or(from, |replica| &replica.path))?;
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unwritable = |error: std::io::Error| refuse(to, format!("it cannot be written: {error}"));
    // In the directory of `to`, so that one rename puts the whole file there. Errors omit its temporary name,
    // which helps no one.
    let part = NamedTempFile::with_prefix_in(".entourage-copy-", directory)
        .map_err(|error| unwritable(error.kind().into()))?;
    write(connection, part.path(), on_progress)?;
    look_through(part.path())?;
    part.as_file().sync_all().map_err(unwritable)?;
    let file = part.persist_noclobber(to).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => there(),
        _ => unwritable(error.error),
    })?;
    // The name is on the disk once its directory is synced; where directories cannot be synced, it follows
    // later.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(file.metadata().map_err(unwritable)?.len())
}

fn write(connection: Connection, to: &Path, mut on_progress: impl FnMut(Copied)) -> Result<()> {
    let size = |pragma: &str| connection.pragma_query_value(None, pragma, |row| rows::count(row, 0));
    let of = size("page_count").and_then(|pages| Ok(pages * size("page_size")?)).map_err(Fault::from)?;
    let name = to.to_str().map(str::to_owned).ok_or_else(|| Error::Unusable {
        path: to.display().to_string(),
        why: "its name is not text".to_owned(),
    })?;
    let work = move || connection.execute("VACUUM INTO ?1", [name]);
    thread::scope(|scope| {
        let writer = scope.spawn(work);
        while !writer.is_finished() {
            thread::park_timeout(PROGRESS_INTERVAL);
            let bytes = to.metadata().map_or(0, |file| file.len());
            on_progress(Copied { bytes, of });
        }
        match writer.join() {
            Ok(written) => Ok(written.map(drop).map_err(Fault::from)?),
            Err(_) => Err(Error::Database("the copy broke off".to_owned())),
        }
    })
}

/// Checks that the copy is intact.
fn look_through(path: &Path) -> Result<()> {
    let copy = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let found = copy.and_then(|copy| copy.query_row("PRAGMA quick_check", [], |row| row.get::<_, String>(0)));
    // Not `Damaged`: what is wrong with the copy need not be wrong with the database.
    let why = match found {
        Ok(found) if found == "ok" => return Ok(()),
        Ok(found) => found,
        Err(error) => error.to_string(),
    };
    Err(Error::Database(format!("the copy cannot be read: {why}. Is the disk damaged, or the database?")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operator who reads that the database is damaged replaces it.
    #[test]
    fn an_unreadable_copy_is_not_reported_as_a_damaged_database() {
        let part = NamedTempFile::new().unwrap();
        std::fs::write(part.path(), "what a broken disk gives back".repeat(50)).unwrap();
        let refused = look_through(part.path()).unwrap_err();
        assert!(matches!(refused, Error::Database(_)), "{refused}");
        assert!(refused.to_string().contains("the copy cannot be read"), "{refused}");
    }
}
