//! Opening: is it ours, is it of a version we know, may we write; and only then the settings.

use std::path::{Path, PathBuf};

use entourage_store::{Error, Result};
use rusqlite::{
    Connection, OpenFlags,
    config::DbConfig,
    trace::{TraceEvent, TraceEventCodes},
};
use tempfile::TempDir;

use crate::{
    Durability, Statements,
    fault::{DAMAGED, Fault},
    migrate,
};

/// Statements kept prepared on each connection: more than there are.
const STATEMENTS: usize = 128;
/// Kilobytes of pages that the writer holds, also while nothing is written: the ends of all tables and indexes,
/// and a group of commits.
const WRITTEN: i32 = 2_000;
/// Kilobytes of pages that each reader holds.
const READ: i32 = 500;

/// The writer's connection, on a database that is ours and of the latest version. An older one is
/// brought there where `migrate` says so.
pub(crate) fn writer(path: &Path, durability: Option<Durability>, migrate: bool) -> Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    let (version, latest) = (ours(path, &connection)?, migrate::LATEST);
    if version > latest {
        return Err(unusable(
            path,
            format!(
                "it is of version {version}, and this program knows versions up to {latest}. \
                 Use the program that made it, or a newer one"
            ),
        ));
    }
    if !migrate && (1..latest).contains(&version) {
        return Err(unusable(
            path,
            format!(
                "it is of version {version}, and this program works with version {latest}. `entourage migrate` \
                 brings it there; an older program cannot read it afterwards"
            ),
        ));
    }
    if connection.is_readonly("main").map_err(|error| unusable(path, error))? {
        return Err(unusable(path, "it is read-only. Make the file and its directory writable"));
    }
    configure(connection, version, durability).map_err(Error::from)
}

fn configure(
    mut connection: Connection,
    version: u32,
    durability: Option<Durability>,
) -> crate::fault::Result<Connection> {
    let synchronous = match durability {
        Some(Durability::Full) => "FULL",
        Some(Durability::Normal) => "NORMAL",
        None => "OFF",
    };
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // The writer's thread does that, so that no author waits for it.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    connection.pragma_update(None, "cache_size", -WRITTEN)?;
    migrate::run(&mut connection, version)?;
    Ok(connection)
}

/// The version of the database at `path`; none when there is no file.
pub(crate) fn version_of(path: &Path) -> Result<Option<u32>> {
    if !path.exists() {
        return Ok(None);
    }
    ours(path, &connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?).map(Some)
}

/// A connection beside the process that has the database open: to read, whatever its version.
pub(crate) fn visitor(path: &Path) -> Result<Connection> {
    // The log of a process that was killed may have to be taken up, which only a writer can.
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    ours(path, &connection)?;
    Ok(connection)
}

/// A reader's connection.
pub(crate) fn reader(path: &Path) -> Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.pragma_update(None, "temp_store", "MEMORY").map_err(Fault::from)?;
    // Pages of the database come from the system's cache without a copy.
    connection.pragma_update(None, "mmap_size", 256 << 20).map_err(Fault::from)?;
    // Those that are in the log still are forgotten with each commit.
    connection.pragma_update(None, "cache_size", -READ).map_err(Fault::from)?;
    Ok(connection)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection> {
    if let Some(log) = lost_log(path) {
        let why = format!("it is empty, but its log {} is not. {DAMAGED}", log.display());
        return Err(unusable(path, why));
    }
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| unusable(path, error))?;
    connection.busy_timeout(crate::PATIENCE).map_err(Fault::from)?;
    // Plans do not depend on bound values here; with partial indexes SQLite would otherwise prepare
    // statements anew for each value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(Fault::from)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// The file of a database's log.
pub(crate) fn log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// The shared memory beside a database.
pub(crate) fn shared(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-shm");
    name.into()
}

/// What the name of such a directory begins with.
pub(crate) const TEMPORARY: &str = "entourage-";

/// A directory of the system for what goes with this process.
pub(crate) fn temporary() -> Result<TempDir> {
    TempDir::with_prefix(TEMPORARY)
        .map_err(|error| unusable(&std::env::temp_dir(), format!("no directory can be made in it: {error}")))
}

/// The log beside an empty file. SQLite takes that for a new database, and deletes what is in the log; it
/// has itself never begun a log before there was a first page.
fn lost_log(path: &Path) -> Option<PathBuf> {
    let length = |path: &Path| std::fs::metadata(path).ok().map(|file| file.len());
    let log = log(path);
    (length(path) == Some(0) && length(&log) > Some(0)).then_some(log)
}

/// Has each statement that begins on this connection heard of.
pub(crate) fn hear_statements(connection: &mut Connection, statements: &Statements) -> Result<()> {
    let statements = statements.clone();
    let heard = move |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(_, sql) = event {
            (statements.0)(sql);
        }
    };
    Ok(connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(heard)).map_err(Fault::from)?)
}

/// How many migrations a database of ours has had; none when it is still empty. Only reads: a
/// foreign file is left as it is.
fn ours(path: &Path, connection: &Connection) -> Result<u32> {
    let why = match version(connection) {
        Ok(Some(version)) => return Ok(version),
        Ok(None) => "it is the database of another program. Move it away, or name another --data directory",
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            "it is not a database. Move it away, or name another --data directory"
        }
        Err(error) => return Err(failed(path, error)),
    };
    Err(unusable(path, why))
}

fn version(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, tables) {
        (migrate::APPLICATION, _) => Some(version),
        (0, 0) => Some(0),
        _ => None,
    })
}

/// What SQLite could not do with a file: the cause and the next step, as while it is open.
fn failed(path: &Path, error: rusqlite::Error) -> Error {
    match Error::from(Fault::from(error)) {
        Error::DiskFull(why) => Error::DiskFull(format!("{}: {why}", path.display())),
        Error::Unavailable { cause, detail } => unusable(path, format!("{cause} ({detail})")),
        Error::Damaged(why) | Error::Database(why) => unusable(path, why),
        error => error,
    }
}

fn unusable(path: &Path, why: impl ToString) -> Error {
    Error::Unusable { path: path.display().to_string(), why: why.to_string() }
}
