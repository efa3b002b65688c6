//! Opens a database: checks that it is one of this program, of a known version and writable, and only then
//! configures it.

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

/// The number of prepared statements cached on each connection: more than exist.
const STATEMENTS: usize = 128;
/// Kilobytes of pages that the writer caches, also while it is idle: the ends of all tables and indexes, and
/// a group of commits.
const WRITTEN: i32 = 1_200;
/// Kilobytes of pages that each reader caches: of the log, for one read.
const READ: i32 = 200;

/// Opens the writer's connection, on a database of this program in the latest version. Migrates an older one
/// if `migrate` is set.
pub(crate) fn writer(path: &Path, durability: Option<Durability>, migrate: bool) -> Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    let version = ours(path, &connection)?;
    expect(path, version, migrate)?;
    if connection.is_readonly("main").map_err(|error| unusable(path, error))? {
        return Err(unusable(path, "it is read-only. Make the file and its directory writable"));
    }
    configure(connection, version, durability).map_err(Error::from)
}

/// Refuses a database of a version that this program does not work with, and an older one unless it may be migrated.
pub(crate) fn expect(path: &Path, version: u32, migrate: bool) -> Result<()> {
    let latest = migrate::LATEST;
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
    Ok(())
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
    // The writer's thread merges the log, so that no caller waits for that.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    connection.pragma_update(None, "cache_size", -WRITTEN)?;
    migrate::run(&mut connection, version)?;
    Ok(connection)
}

/// Returns the version of the database at `path`; none if there is no file.
pub(crate) fn version_of(path: &Path) -> Result<Option<u32>> {
    if !path.exists() {
        return Ok(None);
    }
    ours(path, &connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?).map(Some)
}

/// Opens a connection for reading, beside a process that may have the database open, whatever the version.
pub(crate) fn visitor(path: &Path) -> Result<Connection> {
    // The log of a killed process may have to be recovered, which needs write access.
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    ours(path, &connection)?;
    Ok(connection)
}

/// Opens a reader's connection.
pub(crate) fn reader(path: &Path) -> Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.pragma_update(None, "temp_store", "MEMORY").map_err(Fault::from)?;
    // Pages of the database come from the system's cache without a copy.
    connection.pragma_update(None, "mmap_size", 256 << 20).map_err(Fault::from)?;
    // Cached pages that are still in the log are dropped with each commit.
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
    connection.busy_timeout(crate::settings::PATIENCE).map_err(Fault::from)?;
    // Plans must not depend on bound values: with partial indexes, SQLite would otherwise prepare a statement
    // again for each value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(Fault::from)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Returns the path of a database's log.
pub(crate) fn log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Returns the path of the shared memory beside a database.
pub(crate) fn shared(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-shm");
    name.into()
}

/// What the name of a temporary directory begins with.
pub(crate) const TEMPORARY: &str = "entourage-";

/// Creates a directory in the system's temporary directory, deleted when dropped.
pub(crate) fn temporary() -> Result<TempDir> {
    TempDir::with_prefix(TEMPORARY)
        .map_err(|error| unusable(&std::env::temp_dir(), format!("no directory can be made in it: {error}")))
}

/// Returns the log beside an empty database file, unless the log is empty, too. SQLite would take the file
/// for a new database and delete what is in the log; SQLite itself never begins a log before the file has its
/// first page.
fn lost_log(path: &Path) -> Option<PathBuf> {
    let length = |path: &Path| std::fs::metadata(path).ok().map(|file| file.len());
    let log = log(path);
    (length(path) == Some(0) && length(&log) > Some(0)).then_some(log)
}

/// Reports each statement that begins on this connection.
pub(crate) fn hear_statements(connection: &mut Connection, statements: &Statements) -> Result<()> {
    let statements = statements.clone();
    let heard = move |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(_, sql) = event {
            (statements.0)(sql);
        }
    };
    Ok(connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(heard)).map_err(Fault::from)?)
}

/// Returns how many migrations a database of this program has had, 0 if it is still empty. Only reads: the
/// file of another program stays unchanged.
pub(crate) fn ours(path: &Path, connection: &Connection) -> Result<u32> {
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

/// Returns the error for what SQLite could not do with a file: the same cause and next step as while a store
/// is open.
fn failed(path: &Path, error: rusqlite::Error) -> Error {
    match Error::from(Fault::from(error)) {
        Error::DiskFull(why) => Error::DiskFull(format!("{}: {why}", path.display())),
        Error::Unavailable { cause, detail } => unusable(path, format!("{cause} ({detail})")),
        Error::Damaged(why) | Error::Database(why) => unusable(path, why),
        error => error,
    }
}

pub(crate) fn unusable(path: &Path, why: impl ToString) -> Error {
    Error::Unusable { path: path.display().to_string(), why: why.to_string() }
}
