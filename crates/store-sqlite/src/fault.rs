//! What fails inside, and how it reads outside.

use entourage_store::Error;
use rusqlite::ErrorCode;

/// What to do about a file that does not read back.
pub(crate) const DAMAGED: &str = "The file is damaged. Stop every program that works on it, move it and its `-wal` \
                                  file away, and put a copy that `entourage backup` wrote in its place";

/// What functions on a connection return.
pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// A refusal, which the store has worded, or a failure of SQLite, which it has not.
#[derive(Debug)]
pub(crate) enum Fault {
    /// What the caller is told.
    Told(Error),
    /// What SQLite says.
    Sqlite(rusqlite::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Told(error.into())
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let error = match fault {
            Fault::Told(error) => return error,
            Fault::Sqlite(error) => error,
        };
        match (&error, error.sqlite_error_code()) {
            (_, Some(ErrorCode::DiskFull)) => Self::DiskFull(error.to_string()),
            (_, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) => {
                Self::Database(format!("{error}. {DAMAGED}"))
            }
            (_, Some(ErrorCode::ReadOnly)) => {
                Self::Database(format!("{error}. Make the database and its directory writable"))
            }
            (_, Some(ErrorCode::SystemIoFailure)) => {
                Self::Database(format!("{error}. The disk refuses; nothing of this commit was kept"))
            }
            (
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..),
                _,
            ) => Self::Corrupt(format!("a stored value does not read back: {error}")),
            _ => Self::Database(error.to_string()),
        }
    }
}
