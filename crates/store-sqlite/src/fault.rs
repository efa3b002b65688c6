//! Failures inside the store, and the errors that callers get for them.

use entourage_store::Error;
use rusqlite::{ErrorCode, ffi};

/// What to do about a damaged file.
pub(crate) const DAMAGED: &str = "The file is damaged. Stop every program that works on it, move it and its `-wal` \
                                  file away, and put a copy that `entourage backup` wrote in its place";

/// What functions on a connection return.
pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// An error of the store itself, or a failure of SQLite that is not translated yet.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The error that the caller gets.
    Store(Error),
    /// SQLite's own error.
    Sqlite(rusqlite::Error),
}

impl Fault {
    /// Whether another program holds the file.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let error = match fault {
            Fault::Store(error) => return error,
            Fault::Sqlite(error) => error,
        };
        match (&error, error.sqlite_error_code()) {
            (_, Some(ErrorCode::DiskFull)) => Self::DiskFull(error.to_string()),
            // SQLite only extends the file there: this fails if the disk has no room, and for no other
            // reason.
            (error, _) if error.sqlite_extended_error_code() == Some(ffi::SQLITE_IOERR_SHMSIZE) => {
                Self::DiskFull(format!("there is no room for the `-shm` file of the database ({error})"))
            }
            (_, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => unavailable(
                "another program holds it, such as a `sqlite3` with an open transaction: end that",
                &error,
            ),
            (_, Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied)) => {
                unavailable("it is read-only: make the file, its directory and its disk writable", &error)
            }
            (
                _,
                Some(
                    ErrorCode::SystemIoFailure
                    | ErrorCode::CannotOpen
                    | ErrorCode::FileLockingProtocolFailed
                    | ErrorCode::OutOfMemory,
                ),
            ) => unavailable(
                "the disk or the system reports an error: check the disk, the memory and the system log",
                &error,
            ),
            (_, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) => {
                Self::Damaged(format!("{error}. {DAMAGED}"))
            }
            (
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..),
                _,
            ) => Self::Corrupt(format!("a stored value cannot be decoded: {error}")),
            _ => Self::Database(error.to_string()),
        }
    }
}

fn unavailable(cause: &'static str, error: &rusqlite::Error) -> Error {
    Error::Unavailable { cause, detail: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite reports it as any other I/O error.
    #[test]
    fn a_shm_file_without_space_is_reported_as_a_full_disk() {
        let full = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_SHMSIZE), None);
        let error = Error::from(Fault::from(full));
        assert!(matches!(&error, Error::DiskFull(why) if why.contains("-shm")), "{error:?}");
        let broken = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_READ), None);
        assert!(matches!(Error::from(Fault::from(broken)), Error::Unavailable { .. }));
    }

    /// A damaged file is no temporary outage, and the error says what to do.
    #[test]
    fn a_damaged_file_is_not_a_temporary_outage() {
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = Error::from(Fault::from(failure));
            assert!(matches!(&error, Error::Damaged(why) if why.contains("entourage backup")), "{error:?}");
            assert!(!error.is_outage());
        }
    }
}
