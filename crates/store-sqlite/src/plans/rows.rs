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

/// Inserts runs, by the expressions for the id, the agent, the owner, the status and the reason of each.
fn insert_runs(connection: &Connection, rows: u32, of_each: [&str; 5]) {
    let columns = "id, agent, owner, status, stop_reason, started, kind_version, tasks, spent, model_calls, \
                   worked_ms, input_tokens, output_tokens, cached_tokens, cache_written_tokens, \
                   reasoning_tokens, cost_nanos, open";
    let [.., status, _] = of_each;
    let open = format!("({status}) NOT IN ('succeeded', 'failed', 'cancelled')");
    let values = format!("{}, i, 'v', '[]', '[1]', 1, 1, 1, 1, 1, 1, 1, 1, {open}", of_each.join(", "));
    insert(connection, rows, "runs", columns, &values);
}

/// What stands beside the rows that a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// What another owner has.
    Owners,
    /// Other trees of the owner.
    Trees,
    /// Other agents of the tree below another parent, and what belongs to them and to other records.
    Agents,
    /// What has ended of the same agent and the same record, and the usage of earlier days.
    Ended,
}

impl Beside {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Owners, Self::Trees, Self::Agents, Self::Ended];
}

/// Creates a database with a tree of three agents, each below the one before, and with this many agents beside them.
/// Each agent has a run, a task, a question, a task that belongs to a record, and a day of usage.
pub(super) fn database_beside(beside: Beside, many: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    let id = |number: &str| format!("printf('agt_%032x', {number})");
    let (this, first, second, other) = (id("i"), id("1"), id("2"), id("i + 100"));
    let parent = format!("iif(i = 1, NULL, {})", id("i - 1"));
    // The number, the owner, the root, the parent, and the agent and the record that the rest belongs to.
    let own = ["i", "'local'", &first, &parent, &this, "'note/a note'"];
    let beside_them = match beside {
        Beside::Owners => ["i + 100", "'other'", &other, "NULL", &other, "'note/' || i"],
        Beside::Trees => ["i + 100", "'local'", &other, "NULL", &other, "'note/' || i"],
        Beside::Agents => ["i + 100", "'local'", &first, &first, &other, "'note/' || i"],
        Beside::Ended => ["i + 100", "'local'", &first, &second, &second, "'note/a note'"],
    };
    for (rows, place, has_ended) in [(3, own, false), (many, beside_them, beside == Beside::Ended)] {
        let [number, owner, root, parent, of, record] = place;
        let insert =
            |table: &str, columns: &str, values: &str| insert(&connection, rows, table, columns, values);
        let [agent, run, reason, task, question, day] = match has_ended {
            true => {
                ["'succeeded'", "'succeeded'", "'completed'", "'succeeded'", "'answered'", "'1900-01-01'"]
            }
            false => [
                "iif(i % 3 = 0, 'waiting', 'running')",
                "iif(i % 3 = 1, 'waiting', 'failed')",
                "CASE i % 3 WHEN 0 THEN 'cancelled' WHEN 2 THEN 'max_cost' END",
                "'queued'",
                "'open'",
                "'2026-01-01'",
            ],
        };
        insert(
            "agents",
            "id, owner, root, parent, depth, kind, key, title, status, waiting_on, epoch, session, created, \
             updated, living",
            &format!(
                "{}, {owner}, {root}, {parent}, 0, 'assistant', 'assistant<key ' || ({number}), 'Trains', {agent}, \
                 iif(i % 3 = 0, 'retry', NULL), 1, 1, i, i, {}",
                id(number),
                i32::from(!has_ended)
            ),
        );
        insert_runs(&connection, rows, [&format!("printf('run_%032x', {number})"), of, owner, run, reason]);
        for (kind, id, parent, status) in [
            ("task", "task", of, task),
            ("task", "task_of_record", record, task),
            ("question", "question", of, question),
        ] {
            insert(
                "entities",
                "kind, id, owner, root, parent, status, created, updated, body",
                &format!(
                    "'{kind}', '{id}_' || ({number}), {owner}, {root}, {parent}, {status}, i, i, '{{}}'"
                ),
            );
        }
        insert(
            "usage_of_owners",
            "owner, day, hour, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost",
            &format!(
                "{owner}, date({day}, ({number}) || ' days'), 1, 'model', 'assistant', 1, 1, 1, 1, 1, 1, 1, 1"
            ),
        );
    }
    (directory, connection)
}

/// The id of a row of a [`database_with_ended_rows`].
pub(super) fn ended_id(prefix: &str, number: u32) -> String {
    format!("{prefix}_{number:032}")
}

/// The agents' ends, one after another, and the reasons for them.
const BAD_ENDS: [&str; 5] = ["failed", "failed", "failed", "failed", "cancelled"];
const REASONS: [&str; 5] = ["cancelled", "error", "max_cost", "max_steps", "cancelled"];

/// Creates a database with `ended` rows of each sort that ended well (or did not), fifty that are open, and
/// ten that ended the other way; of each of these, in all statuses that there are. The open agents have something to
/// read, and nothing wakes them.
pub(super) fn database_with_ended_rows(ended: u32, well: bool) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    let insert =
        |table: &str, columns: &str, values: &str| insert(&connection, ended + 60, table, columns, values);
    let id = |prefix: &str| format!("printf('{prefix}_%032d', i)");
    let each = |words: &[&str]| {
        let cases = words.iter().enumerate().map(|(at, word)| format!(" WHEN {at} THEN '{word}'"));
        format!("CASE i % {}{} END", words.len(), cases.collect::<String>())
    };
    // The open rows come first, like rows that have waited for long.
    let status = |open: &[&str], good: &[&str], bad: &[&str]| {
        let (few, many) = if well { (bad, good) } else { (good, bad) };
        let [open, few, many] = [open, few, many].map(each);
        format!("CASE WHEN i <= 50 THEN {open} WHEN i <= 60 THEN {few} ELSE {many} END")
    };
    let of_work = status(&["idle", "queued", "running", "waiting"], &["succeeded"], &BAD_ENDS);
    let reason = format!(
        "CASE {of_work} WHEN 'succeeded' THEN 'completed' WHEN 'failed' THEN {reason} WHEN 'cancelled' THEN {reason} END",
        reason = each(&REASONS)
    );
    let agent = id("agt");
    insert(
        "agents",
        "id, owner, root, depth, kind, title, status, waiting_on, stop_reason, epoch, session, created, updated",
        &format!(
            "{agent}, 'local', {agent}, 0, {}, 'Trains to place ' || i, {of_work}, \
             iif({of_work} = 'waiting', {}, NULL), {reason}, 1, 1, i, i",
            each(&["assistant", "orchestrator"]),
            each(&["user", "retry", "timer"])
        ),
    );
    self::insert(
        &connection,
        50,
        "inbox",
        "agent, id, at, wakeup, body",
        &format!("{agent}, {}, i, {}, '{{}}'", id("pst"), id("wkp")),
    );
    insert_runs(&connection, ended + 60, [&id("run"), &agent, "'local'", &of_work, &reason]);
    type Statuses = &'static [&'static str];
    let nouns: [(&str, Statuses, Statuses, Statuses); 11] = [
        ("task", &["queued", "running", "waiting"], &["succeeded"], &["failed", "cancelled"]),
        ("question", &["open"], &["answered"], &["declined", "expired"]),
        ("intervention", &["pending"], &["applied"], &["applied"]),
        ("delivery", &["pending"], &["delivered"], &["given_up"]),
        ("grant", &["standing"], &["revoked"], &["revoked"]),
        ("chat", &["open"], &["deleted"], &["deleted"]),
        ("request", &["done"], &["done"], &["done"]),
        ("learning", &["kept"], &["kept"], &["retired"]),
        ("session", &["closed"], &["closed"], &["closed"]),
        ("schedule", &["active"], &["ended"], &["paused"]),
        ("kind", &["kept"], &["kept"], &["kept"]),
    ];
    for (kind, open, good, bad) in nouns {
        insert(
            "entities",
            "kind, id, owner, root, parent, status, created, updated, body",
            &format!(
                "'{kind}', {}, 'local', {agent}, {agent}, {}, i, i, '{{}}'",
                id(kind),
                status(open, good, bad)
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

/// The same of one owner in two trees, of which each has an agent that all its notes belong to.
pub(super) fn database_with_notes_of_two_trees(first: u32, second: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    for (number, notes) in [(1, first), (2, second)] {
        let tree = tree_id(number);
        insert(
            &connection,
            notes,
            "entities",
            "kind, id, owner, root, parent, status, created, updated, body, text",
            &format!(
                "'note', 'note_{number}_' || i, 'local', '{tree}', '{tree}', 'kept', i, i, '{{}}', \
                 'trains to place ' || i"
            ),
        );
    }
    (directory, connection)
}

/// The same of two owners.
pub(super) fn database_with_notes_of_two(own: u32, others: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database_with_notes(own);
    add_notes(&connection, "other", others);
    (directory, connection)
}

/// The day on which the last notes of a [`database_with_notes_within`] changed, in days since 1970.
pub(super) const TODAY: u32 = 20_000;

/// The same of an agent that wrote some of its notes long ago, on one day, and as many as `latest` today.
pub(super) fn database_with_notes_within(long_ago: u32, latest: u32) -> (tempfile::TempDir, Connection) {
    let (directory, connection) = database();
    for (what, notes, day) in [("old", long_ago, TODAY - 400), ("new", latest, TODAY)] {
        let columns = "kind, id, owner, root, parent, status, created, updated, body, text";
        let (tree, at) = (tree_id(1), u64::from(day) * 24 * 60 * 60 * 1_000_000);
        let values = format!(
            "'note', 'note_{what}_' || i, 'local', '{tree}', '{tree}', 'kept', 1, {at}, '{{}}', 'trains to place ' || i"
        );
        insert(&connection, notes, "entities", columns, &values);
    }
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
    let (status, reason) = ("iif(i = 1, 'running', 'succeeded')", "iif(i = 1, NULL, 'completed')");
    insert_runs(&connection, rows, ["'run_' || i", &own, "'local'", status, reason]);
    // Each branch has ended as many runs of its own.
    let of_branch = ["'run_of_branch_' || i", &branch, "'local'", "'succeeded'", "'completed'"];
    insert_runs(&connection, branches * below, of_branch);
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
