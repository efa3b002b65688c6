//! The schema's versions: forward only, each in a transaction of its own.

use rusqlite::Connection;

use crate::fault::Result;

/// Every migration, oldest first; a database's version is how many of them it has had.
const MIGRATIONS: &[&str] = &[include_str!("../migrations/0001_first.sql")];

/// What marks a database as one of this program: `Ento`.
pub(crate) const APPLICATION: i32 = 0x456e_746f;

/// The version that this program works with.
pub(crate) const LATEST: u32 = MIGRATIONS.len() as u32;

/// Brings a database from its version to the latest.
pub(crate) fn run(connection: &mut Connection, version: u32) -> Result<()> {
    for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > version) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}
