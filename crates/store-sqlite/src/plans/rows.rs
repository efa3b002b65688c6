//! Databases with many rows, written without a store.

use rusqlite::Connection;

use crate::open;

fn database() -> (tempfile::TempDir, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let connection = open::writer(&directory.path().join("entourage.db"), None, true).unwrap();
    (directory, connection)
}

/// Inserts rows; the values may name the number `i` of each, from 1 on.
fn insert(connection: &Connection, rows: u32, table: &str, columns: &str, values: &str) {
    let sql = format!(
        "WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < {rows}) \
         INSERT INTO {table} ({columns}) SELECT {values} FROM row"
    );
    connection.execute_batch(&sql).unwrap();
}

/// Creates a database with `ended` rows of each sort that ended well (or did not), fifty that are open, and
/// ten that ended the other way.
pub(super) fn database_with_ended_rows(ended: u32, well: bool) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    let insert =
        |table: &str, columns: &str, values: &str| insert(&connection, ended + 60, table, columns, values);
    // The open rows come first, like rows that have waited for long.
    let status = |open: &str, good: &str, bad: &str| {
        let (few, many) = if well { (bad, good) } else { (good, bad) };
        format!("CASE WHEN i <= 50 THEN '{open}' WHEN i <= 60 THEN '{few}' ELSE '{many}' END")
    };
    let of_work = status("waiting", "succeeded", "failed");
    insert(
        "agents",
        "id, owner, root, depth, kind, title, status, waiting_on, epoch, session, created, updated",
        &format!(
            "'agt_' || i, 'local', 'agt_' || i, 0, 'assistant', 'Trains to place ' || i, {of_work}, \
             CASE WHEN i <= 50 THEN iif(i % 5 = 0, 'retry', 'user') END, 1, 1, i, i"
        ),
    );
    insert(
        "runs",
        "id, agent, owner, status, stop_reason, kind_version, tasks, model_calls, worked_ms, input_tokens, output_tokens, \
         cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, started",
        &format!(
            "'run_' || i, 'agt_' || i, 'local', {of_work}, CASE {of_work} WHEN 'succeeded' THEN 'completed' \
             WHEN 'failed' THEN iif(i % 4 = 0, 'cancelled', 'error') END, '', '[]', 1, 1, 1, 1, 1, 1, 1, 1, i"
        ),
    );
    for (kind, open, good, bad) in [
        ("task", "queued", "succeeded", "failed"),
        ("question", "open", "answered", "declined"),
        ("intervention", "pending", "applied", "declined"),
        ("delivery", "pending", "delivered", "given_up"),
        ("grant", "standing", "revoked", "revoked"),
        ("chat", "open", "deleted", "deleted"),
        ("request", "done", "done", "done"),
        ("learning", "kept", "kept", "retired"),
        ("session", "closed", "closed", "closed"),
        ("schedule", "active", "ended", "paused"),
        ("kind", "kept", "kept", "kept"),
    ] {
        let status = status(open, good, bad);
        insert(
            "entities",
            "kind, id, owner, root, parent, status, created, updated, body",
            &format!(
                "'{kind}', '{kind}_' || i, 'local', 'agt_' || i, 'agt_' || i, \
                 {status}, i, i, '{{}}'"
            ),
        );
    }
    (directory, connection)
}

/// Creates a database with so many notes of one owner, each with the word `trains` in its text.
pub(super) fn database_with_notes(notes: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    add_notes(&connection, "local", notes);
    (directory, connection)
}

/// The same of two owners.
pub(super) fn database_with_notes_of_two(own: u32, others: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database_with_notes(own);
    add_notes(&connection, "other", others);
    (directory, connection)
}

fn add_notes(connection: &Connection, owner: &str, notes: u32) {
    let columns = "kind, id, owner, status, created, updated, body, text";
    let id = if owner == "local" { "note_".to_owned() } else { format!("note_{owner}_") };
    let values = format!("'note', '{id}' || i, '{owner}', 'kept', i, i, '{{}}', 'trains to place ' || i");
    insert(connection, notes, "entities", columns, &values);
}

/// The number of an agent as its id.
pub(super) fn tree_id(number: u32) -> String {
    format!("agt_{number:032x}")
}

/// Creates a database with a tree: its root has the number 1, then come so many branches, its children, and so many
/// agents below each branch. All but the root have ended, each after one run.
pub(super) fn database_with_tree(branches: u32, below: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    let rows = 1 + branches + branches * below;
    let id = |number: &str| format!("printf('agt_%032x', {number})");
    let (own, root, branch) = (id("i"), id("1"), id(&format!("2 + i % {branches}")));
    let parent = format!("CASE WHEN i = 1 THEN NULL WHEN i <= {branches} + 1 THEN {root} ELSE {branch} END");
    insert(
        &connection,
        rows,
        "agents",
        "id, owner, root, parent, depth, kind, title, status, epoch, session, created, updated",
        &format!(
            "{own}, 'local', {root}, {parent}, (i > 1) + (i > {branches} + 1), 'assistant', 'Trains', \
             iif(i = 1, 'running', 'succeeded'), 1, 1, i, i"
        ),
    );
    insert(
        &connection,
        rows,
        "runs",
        "id, agent, owner, status, stop_reason, kind_version, tasks, model_calls, worked_ms, input_tokens, \
         output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, started",
        &format!(
            "'run_' || i, {own}, 'local', iif(i = 1, 'running', 'succeeded'), iif(i = 1, NULL, 'completed'), \
             '', '[]', 1, 1, 1, 1, 1, 1, 1, 1, i"
        ),
    );
    // Each branch has ended as many runs of its own.
    insert(
        &connection,
        branches * below,
        "runs",
        "id, agent, owner, status, stop_reason, kind_version, tasks, model_calls, worked_ms, input_tokens, \
         output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, started",
        &format!(
            "'run_of_branch_' || i, {branch}, 'local', 'succeeded', 'completed', '', '[]', \
             1, 1, 1, 1, 1, 1, 1, 1, i"
        ),
    );
    (directory, connection)
}

/// Creates a database with a tree of two agents. Its root has so many items, and the tree as many events: of a hundred of
/// them, one is about the other agent, and one has a rare name.
pub(super) fn database_with_past(rows: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database_with_tree(1, 0);
    let (root, other) = (tree_id(1), tree_id(2));
    insert(
        &connection,
        rows,
        "items",
        "n, run, session, at, type, body",
        "1 << 32 | i - 1, printf('run_%032x', 1), 1, i, 'message', '{\"from\":{\"by\":\"user\"},\"text\":\"Well?\"}'",
    );
    let events = format!(
        "1 << 32 | i, iif(i % 100 = 0, '{other}', '{root}'), i, iif(i % 100 = 50, \
         '{{\"event\":\"agent_created\",\"kind\":\"assistant\",\"title\":\"Trains\"}}', \
         '{{\"event\":\"agent_status\",\"status\":\"running\"}}')"
    );
    insert(&connection, rows, "events", "n, agent, at, body", &events);
    (directory, connection)
}

/// Creates a database with the usage of so many days, hour by hour, from the beginning of 2025 on.
pub(super) fn database_with_usage(days: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    insert(
        &connection,
        days * 24,
        "usage_of_owners",
        "owner, day, hour, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost",
        "'local', date('2025-01-01', '+' || ((i - 1) / 24) || ' days'), (i - 1) % 24, 'a::b', 'assistant', \
         1, 0, 1, 1, 0, 0, 0, 1",
    );
    (directory, connection)
}

/// Creates a database with twenty records of an agent, and so many of another one with the same owner: of each of these
/// nouns, in this status.
pub(super) fn database_with_records(nouns: &[(&str, &str)], others: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    for (noun, status) in nouns {
        for (number, rows) in [(1, 20), (2, others)] {
            let agent = tree_id(number);
            insert(
                &connection,
                rows,
                "entities",
                "kind, id, owner, root, parent, status, created, updated, body",
                &format!(
                    "'{noun}', '{noun}_{number}_' || i, 'local', '{agent}', '{agent}', '{status}', i, i, '{{}}'"
                ),
            );
        }
    }
    (directory, connection)
}
