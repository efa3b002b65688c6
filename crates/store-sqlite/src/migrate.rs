//! Migrations of the schema: forward only, each in its own transaction, so that a crash in the middle of one
//! leaves the version before it.

use rusqlite::Connection;

use crate::fault::Result;

/// Every migration, oldest first; the version of a database is the number of migrations that it has had.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_less_written.sql"),
    include_str!("../migrations/0003_usage.sql"),
    include_str!("../migrations/0004_memory.sql"),
    include_str!("../migrations/0005_clustered_items.sql"),
    include_str!("../migrations/0006_threads.sql"),
    include_str!("../migrations/0007_threads_of_people.sql"),
    include_str!("../migrations/0008_open.sql"),
    include_str!("../migrations/0009_output_effects.sql"),
    include_str!("../migrations/0010_sums.sql"),
    include_str!("../migrations/0011_ended.sql"),
    include_str!("../migrations/0012_events_in_order.sql"),
    include_str!("../migrations/0013_stop_reasons.sql"),
    include_str!("../migrations/0014_sums_that_fit.sql"),
    include_str!("../migrations/0015_words_compared.sql"),
    include_str!("../migrations/0016_typed_steps.sql"),
    include_str!("../migrations/0017_arrival.sql"),
    include_str!("../migrations/0018_field_words.sql"),
    include_str!("../migrations/0019_record_versions.sql"),
    include_str!("../migrations/0020_sums_of_ended_runs.sql"),
    include_str!("../migrations/0021_items_in_order.sql"),
    include_str!("../migrations/0022_views_by_row.sql"),
    include_str!("../migrations/0023_one_schema.sql"),
    include_str!("../migrations/0024_words_without_diacritics.sql"),
    include_str!("../migrations/0025_typed_answers_and_grants.sql"),
    include_str!("../migrations/0026_ends_of_tasks.sql"),
    include_str!("../migrations/0027_wider_records.sql"),
    include_str!("../migrations/0028_reads.sql"),
    include_str!("../migrations/0029_budgets.sql"),
    include_str!("../migrations/0030_usage_by_hour.sql"),
    include_str!("../migrations/0031_schedules.sql"),
    include_str!("../migrations/0032_sums_of_agents.sql"),
    include_str!("../migrations/0033_search_of_an_owner.sql"),
    include_str!("../migrations/0034_open_runs.sql"),
    include_str!("../migrations/0035_notice_codes.sql"),
    include_str!("../migrations/0036_active_agents.sql"),
    include_str!("../migrations/0037_numbers.sql"),
    include_str!("../migrations/0038_switches.sql"),
    include_str!("../migrations/0039_search_within_a_time.sql"),
];

/// The application id that marks a database of this program: `Ento`.
pub(crate) const APPLICATION: i32 = 0x456e_746f;

/// The version that this program works with.
pub(crate) const LATEST: u32 = MIGRATIONS.len() as u32;

/// Migrates a database from its version to the latest, and logs a warning if it is an older one and not new.
pub(crate) fn run(connection: &mut Connection, version: u32) -> Result<()> {
    if (1..LATEST).contains(&version) {
        let path = connection.path().unwrap_or_default();
        tracing::warn!(
            "migrating {path} from version {version} to {LATEST}; a large database takes a moment"
        );
    }
    through(connection, version, MIGRATIONS)
}

fn through(connection: &mut Connection, version: u32, migrations: &[&str]) -> Result<()> {
    for (number, migration) in (1..).zip(migrations).filter(|(number, _)| *number > version) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
        tracing::debug!(version = number, "the database was migrated");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(connection: &Connection) -> Vec<(String, Option<String>)> {
        let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY rowid").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn a_failed_migration_leaves_the_previous_version() {
        let mut connection = Connection::open_in_memory().unwrap();
        let migrations = [MIGRATIONS[0], "DROP TABLE events; DROP TABLE nobody_made_this"];
        through(&mut connection, 0, &migrations[..1]).unwrap();
        let before = dump(&connection);
        assert!(through(&mut connection, 1, &migrations).is_err());
        assert_eq!(dump(&connection), before);
        let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 1);
        run(&mut connection, version).unwrap();
        assert_ne!(dump(&connection), before);
    }
}
