//! Failures inside the store, and the errors that callers get for them.

use deadpool_postgres::PoolError;
use entourage_store::{Error, judge::Lookup};
use tokio_postgres::error::SqlState;

/// What functions on a connection return.
pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// An error of the store itself, or a failure that is not translated yet.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The error that the caller gets.
    Store(Error),
    /// PostgreSQL's own error, or that of the connection.
    Postgres(tokio_postgres::Error),
    /// No connection could be had.
    Pool(PoolError),
}

/// A fact that was not read before the judgement.
#[derive(Debug)]
pub(crate) struct Missing(pub(crate) Lookup);

impl Fault {
    /// Whether the connection is lost, so that nobody knows what became of what was sent last.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Postgres(error) => match error.as_db_error() {
                Some(error) => is_ending(error.code()),
                None => is_of_connection(error),
            },
            Self::Store(_) | Self::Pool(_) => false,
        }
    }

    /// Whether the transaction was undone for another one's sake, and may succeed if it is repeated: a deadlock, a
    /// serialization failure, or a row that another one has inserted since.
    pub(crate) fn is_conflict(&self) -> bool {
        let Self::Postgres(error) = self else { return false };
        error.code().is_some_and(|code| {
            [
                &SqlState::T_R_DEADLOCK_DETECTED,
                &SqlState::T_R_SERIALIZATION_FAILURE,
                &SqlState::UNIQUE_VIOLATION,
            ]
            .contains(&code)
        })
    }
}

/// Whether the server ends the connection.
fn is_ending(code: &SqlState) -> bool {
    [&SqlState::ADMIN_SHUTDOWN, &SqlState::CRASH_SHUTDOWN, &SqlState::CANNOT_CONNECT_NOW].contains(&code)
        || code.code().starts_with("08")
}

/// Whether an error without a code is one of the connection, and not of values.
fn is_of_connection(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    error.is_closed() || error.source().is_some_and(|cause| cause.is::<std::io::Error>())
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        Self::Pool(error)
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => error,
            Fault::Postgres(error) => of_postgres(&error),
            Fault::Pool(PoolError::Timeout(_)) => unavailable(
                "no connection to it became free within five seconds: all are in use, or it does not answer",
                "the pool of connections",
            ),
            Fault::Pool(PoolError::Backend(error)) => match of_postgres(&error) {
                Self::Database(why) => unavailable("no connection to it can be made", &why),
                error => error,
            },
            Fault::Pool(error) => unavailable("no connection to it can be made", &error.to_string()),
        }
    }
}

/// Translates an error of the database or of a connection.
pub(crate) fn of_postgres(error: &tokio_postgres::Error) -> Error {
    let said = described(error);
    let Some(code) = error.code() else {
        if said.contains("TLS handshake") {
            return unavailable(
                "the connection cannot be encrypted, or its certificate is not trusted: name a file with the \
                 certificates that sign it as `sslrootcert` in the address, or let `sslmode=disable` encrypt nothing",
                &said,
            );
        }
        return match is_of_connection(error) {
            true => unavailable("the connection to it is lost, or none can be made", &said),
            false => Error::Corrupt(format!("a stored value cannot be decoded: {said}")),
        };
    };
    if is_ending(code) {
        return unavailable("it is being stopped or started", &said);
    }
    match code.code() {
        "53100" => Error::DiskFull(said),
        "53300" => unavailable(
            "it takes no more connections: raise its `max_connections`, or have each process make fewer (`store.connections`)",
            &said,
        ),
        "25006" => unavailable("it is read-only: it is a replica, or recovers", &said),
        "55P03" | "57014" => unavailable("another program holds what this one needs", &said),
        "53000" | "53200" | "53400" | "58000" | "58030" => {
            unavailable("the server reports a lack of resources or a failure of its disk", &said)
        }
        "XX001" | "XX002" => Error::Damaged(format!("{said}. Restore it from a backup")),
        _ => Error::Database(said),
    }
}

/// What an error says, with its cause.
pub(crate) fn described(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    if let Some(error) = error.as_db_error() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn unavailable(cause: &'static str, detail: &str) -> Error {
    Error::Unavailable { cause, detail: detail.to_owned() }
}
