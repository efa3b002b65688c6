//! Checks whether a database file is intact.

use std::path::Path;

use entourage_store::Result;

use crate::{fault::Fault, open};

/// Returns the damage that SQLite finds in a database file by reading all of it; none if the file is intact.
/// For a database that no process works on.
///
/// # Errors
/// If it cannot be opened or read at all.
pub(crate) fn damage(path: &Path) -> Result<Option<String>> {
    let connection = open::visitor(path)?;
    let found: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(Fault::from)?;
    Ok((found != "ok").then(|| found.split_whitespace().collect::<Vec<_>>().join(" ")))
}
