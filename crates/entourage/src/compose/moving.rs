//! Moving all rows of an installation from its file to a server.

use entourage_store::{
    Error,
    moving::{Inventory, Progress, move_rows},
};
use entourage_store_postgres::PostgresDatabase;
use entourage_store_sqlite::SqliteFile;

use super::database::database;
use crate::{Result, Settings};

/// Moves all rows from the database file of these settings to the empty database of a PostgreSQL server at this URL, and
/// returns what they are. The file stays as it is, and is locked meanwhile.
///
/// # Errors
/// When the settings have no file, it is in use, missing or of another version, when the server's database has rows, and
/// when what was written there is not what was read: it is empty then.
pub async fn move_to_postgres(settings: &Settings, url: &str, progress: Progress) -> Result<Inventory> {
    let from = database(settings)?;
    let files = from.files();
    let Some(path) = files.first() else {
        let why = "the settings name it as the store. Rows are moved from a file: unset what names it, and try again";
        return Err(Error::Unusable { path: from.place(), why: why.to_owned() }.into());
    };
    let to = PostgresDatabase::new(url, entourage_store_postgres::Settings::default())?;
    let rows = SqliteFile::new(path, entourage_store_sqlite::Settings::default()).rows().await?;
    Ok(move_rows(rows, to.target().await?, progress).await?)
}
