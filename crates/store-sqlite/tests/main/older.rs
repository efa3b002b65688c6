//! Databases as earlier versions of the program left them.

use std::path::Path;

use entourage_types::AgentId;
use rusqlite::Connection;

pub(crate) const MIGRATIONS: [&str; 39] = [
    include_str!("../../migrations/0001_first.sql"),
    include_str!("../../migrations/0002_less_written.sql"),
    include_str!("../../migrations/0003_usage.sql"),
    include_str!("../../migrations/0004_memory.sql"),
    include_str!("../../migrations/0005_clustered_items.sql"),
    include_str!("../../migrations/0006_threads.sql"),
    include_str!("../../migrations/0007_threads_of_people.sql"),
    include_str!("../../migrations/0008_open.sql"),
    include_str!("../../migrations/0009_output_effects.sql"),
    include_str!("../../migrations/0010_sums.sql"),
    include_str!("../../migrations/0011_ended.sql"),
    include_str!("../../migrations/0012_events_in_order.sql"),
    include_str!("../../migrations/0013_stop_reasons.sql"),
    include_str!("../../migrations/0014_sums_that_fit.sql"),
    include_str!("../../migrations/0015_words_compared.sql"),
    include_str!("../../migrations/0016_typed_steps.sql"),
    include_str!("../../migrations/0017_arrival.sql"),
    include_str!("../../migrations/0018_field_words.sql"),
    include_str!("../../migrations/0019_record_versions.sql"),
    include_str!("../../migrations/0020_sums_of_ended_runs.sql"),
    include_str!("../../migrations/0021_items_in_order.sql"),
    include_str!("../../migrations/0022_views_by_row.sql"),
    include_str!("../../migrations/0023_one_schema.sql"),
    include_str!("../../migrations/0024_words_without_diacritics.sql"),
    include_str!("../../migrations/0025_typed_answers_and_grants.sql"),
    include_str!("../../migrations/0026_ends_of_tasks.sql"),
    include_str!("../../migrations/0027_wider_records.sql"),
    include_str!("../../migrations/0028_reads.sql"),
    include_str!("../../migrations/0029_budgets.sql"),
    include_str!("../../migrations/0030_usage_by_hour.sql"),
    include_str!("../../migrations/0031_schedules.sql"),
    include_str!("../../migrations/0032_sums_of_agents.sql"),
    include_str!("../../migrations/0033_search_of_an_owner.sql"),
    include_str!("../../migrations/0034_open_runs.sql"),
    include_str!("../../migrations/0035_notice_codes.sql"),
    include_str!("../../migrations/0036_active_agents.sql"),
    include_str!("../../migrations/0037_numbers.sql"),
    include_str!("../../migrations/0038_switches.sql"),
    include_str!("../../migrations/0039_search_within_a_time.sql"),
];

/// Writes a root agent of this id into a database of version 2 or later.
pub(crate) fn insert_agent(older: &Connection, id: AgentId) {
    let sql = "INSERT INTO agents (id, owner, root, depth, kind, title, status, epoch, session, created, updated) \
               VALUES (?1, 'local', ?1, 0, 'helper', '', 'succeeded', 1, 1, 0, 0)";
    older.execute(sql, [id.to_string()]).unwrap();
}

/// Takes back what migrations from 27 on add and would add again, for tests that make an older database of a new one.
pub(crate) fn undo_later(file: &Connection) {
    file.execute_batch(
        "DROP INDEX numbered_entities; DROP INDEX active_agents; DROP INDEX open_agents;
         CREATE INDEX open_agents ON agents (status)
             WHERE status = 'idle' OR status = 'queued' OR status = 'running' OR status = 'waiting';
         DROP INDEX open_runs; ALTER TABLE runs DROP COLUMN open; ALTER TABLE runs DROP COLUMN switches;
         CREATE INDEX open_runs ON runs (n)
             WHERE status <> 'succeeded' AND status <> 'failed' AND status <> 'cancelled';
         DROP INDEX living_agents;
         ALTER TABLE agents DROP COLUMN living; ALTER TABLE agents DROP COLUMN works_for;
         DROP TRIGGER sums_go_with_their_agent; DROP TABLE subtrees;
         DROP TABLE budgets; DROP TABLE reservations;
         ALTER TABLE wakeups DROP COLUMN schedule;
         DROP TRIGGER entity_text_added; DROP TRIGGER entity_text_dropped; DROP TRIGGER entity_text_changed;
         DROP TABLE text_months; DROP TABLE entity_text; ALTER TABLE entities DROP COLUMN scope;
         CREATE VIRTUAL TABLE entity_text USING fts5 (
             text, content = 'entities', content_rowid = 'n', tokenize = 'unicode61 remove_diacritics 2'
         );",
    )
    .unwrap();
}

/// Creates an empty database of this version.
pub(crate) fn of_version(path: &Path, version: usize) -> Connection {
    made_by(path, &MIGRATIONS[..version])
}

/// The same by a program whose migration of this number was another one.
pub(crate) fn with_migration(path: &Path, version: usize, number: usize, migration: &str) -> Connection {
    let (before, after) = (&MIGRATIONS[..number - 1], &MIGRATIONS[number..version]);
    made_by(path, &[before, &[migration], after].concat())
}

fn made_by(path: &Path, migrations: &[&str]) -> Connection {
    let older = Connection::open(path).unwrap();
    older.pragma_update(None, "synchronous", "off").unwrap();
    for migration in migrations {
        older.execute_batch(migration).unwrap();
    }
    older.pragma_update(None, "application_id", 0x456e_746f).unwrap();
    older.pragma_update(None, "user_version", migrations.len() as i64).unwrap();
    older
}
