//! Whether a database file is whole.

use std::path::Path;

use entourage_store::Result;

use crate::{fault::Fault, open};

/// What is wrong with the file of a database, as SQLite finds it by reading all of it; none when it is
/// whole. For a database that nobody works on.
///
/// # Errors
/// When it cannot be opened or read at all.
pub fn damage(path: &Path) -> Result<Option<String>> {
    let connection = open::visitor(path)?;
    let found: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(Fault::from)?;
    Ok((found != "ok").then(|| found.split_whitespace().collect::<Vec<_>>().join(" ")))
}
