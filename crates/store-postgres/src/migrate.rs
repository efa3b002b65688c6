//! Migrations of the schema: forward only, all of them in one transaction, so that a failure in the middle leaves the
//! version before it. Programs that start at the same time migrate one after the other.

use deadpool_postgres::Client;

use crate::{fault::Result, rows::small, statement::Statement};

/// Every migration, oldest first; the version of a database is the number of migrations that it has had.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_nodes.sql"),
    include_str!("../migrations/0003_typed_locks.sql"),
    include_str!("../migrations/0004_database_id.sql"),
];

/// The version that this program works with.
pub(crate) const LATEST: u32 = MIGRATIONS.len() as u32;

/// Under which programs that migrate wait for each other.
const LOCK: i64 = 0x456e_746f;

/// What is in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// No table.
    Nothing,
    /// Tables of another program.
    Foreign,
    /// The tables of this program, in this version.
    Ours(u32),
}

/// Returns what is in a database.
pub(crate) async fn contents(client: &Client) -> Result<Contents> {
    let tables = Statement::whole(
        "SELECT count(*) FILTER (WHERE table_name = 'entourage_schema'), count(*) FROM information_schema.tables \
         WHERE table_schema = current_schema()",
    );
    let found = tables.run(client).await?;
    let counts =
        found.first().map(|row| Ok::<_, crate::fault::Fault>((small::<u32>(row, 0)?, small::<u32>(row, 1)?)));
    Ok(match counts.transpose()? {
        Some((1.., _)) => {
            let version =
                Statement::whole("SELECT max(version)::bigint FROM entourage_schema").run(client).await?;
            Contents::Ours(version.first().map(|row| small(row, 0)).transpose()?.unwrap_or_default())
        }
        Some((0, 1..)) => Contents::Foreign,
        _ => Contents::Nothing,
    })
}

/// Migrates a database to the latest version, and returns what was in it. Leaves one alone that is of another program or
/// of a newer version.
pub(crate) async fn run(client: &Client) -> Result<Contents> {
    client.batch_execute("BEGIN").await?;
    let migrated = through(client, MIGRATIONS).await;
    let end = if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = client.batch_execute(end).await;
    let before = migrated?;
    ended?;
    Ok(before)
}

async fn through(client: &Client, migrations: &[&str]) -> Result<Contents> {
    Statement::whole("SELECT pg_advisory_xact_lock($1)").bind(LOCK).run(client).await?;
    let before = contents(client).await?;
    let version = match before {
        Contents::Nothing => {
            client
                .batch_execute(
                    "CREATE TABLE entourage_schema (version integer PRIMARY KEY, \
                     migrated timestamptz NOT NULL DEFAULT now())",
                )
                .await?;
            0
        }
        Contents::Foreign => return Ok(before),
        Contents::Ours(version) => version,
    };
    for (number, migration) in (1_i32..).zip(migrations) {
        if u32::try_from(number).is_ok_and(|number| number > version) {
            client.batch_execute(migration).await?;
            let done = Statement::whole("INSERT INTO entourage_schema (version) VALUES ($1)").bind(number);
            done.run(client).await?;
            tracing::debug!(version = number, "the database was migrated");
        }
    }
    Ok(before)
}
