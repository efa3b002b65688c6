//! SQLite's plans for the statements of a store: none scans a table that grows with what has ended, sorts its
//! rows, or builds an index of its own.

use rusqlite::Connection;

/// The tables that grow with what has ended.
const GROWING: [&str; 7] = ["agents", "items", "runs", "steps", "events", "entities", "usage_of_owners"];

/// Panics if a statement's plan does any of that.
pub(crate) fn expect_narrow<'a>(connection: &Connection, statements: impl Iterator<Item = &'a String>) {
    for sql in statements {
        // Statements of triggers are reported as comments.
        let plans = ["SELECT", "INSERT", "UPDATE", "DELETE"].iter().any(|verb| sql.starts_with(verb));
        if !plans || is_allowed(sql) {
            continue;
        }
        let mut explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut lines = explained.raw_query();
        while let Some(line) = lines.next().unwrap() {
            let line: String = line.get(3).unwrap();
            assert!(!is_wide(&line), "{line}: {sql}");
        }
    }
}

/// Whether a statement may be wide all the same.
fn is_allowed(sql: &str) -> bool {
    let is_list = sql.contains("WHERE true") || sql.contains("WHERE runs.spent");
    // Only maintenance jobs and the operator list rows of all owners at once: tests beside the store's
    // queries count the steps of these lists.
    is_list && !sql.contains("owner = ?")
        // This has as many rows as there are versions of kinds.
        || sql.contains("GROUP BY of_kind")
        // These have few rows: the latest matches of a search, agents with posts, active ones, one run, one tree, one
        // agent's wake-ups and children.
        || sql.contains("rank AS score FROM entity_text")
        || sql.contains("(SELECT agent FROM inbox)")
        || sql.contains("UNION ALL SELECT read.n FROM inbox")
        || sql.contains("FROM steps WHERE run = ?")
        || sql.contains("agent IN (SELECT id FROM agents WHERE root = ?)")
        || sql.contains("FROM wakeups WHERE agent = ?1")
        || sql.contains("WHERE parent = ?1 UNION")
}

/// Whether a line of a plan takes longer the more has ended.
fn is_wide(line: &str) -> bool {
    let scans = |table: &&str| {
        let rest = line.strip_prefix("SCAN ").and_then(|rest| rest.strip_prefix(*table));
        // An index of open rows is as small as the work under way.
        rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with(' ')) && !rest.contains(" open_"))
    };
    GROWING.iter().any(scans) || line.contains("TEMP B-TREE") || line.contains("AUTOMATIC")
}
