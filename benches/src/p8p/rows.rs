//! The rows of a database after years of use, written without a store.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use rusqlite::Connection;

const AGENTS: u32 = 100_000;
const RUNS: u32 = 200_000;
const EVENTS: u32 = 1_000_000;
/// The events before this one create agents.
const CREATED: u32 = 1_000;
const DELIVERIES: u32 = 20_000;
const NOTES: u32 = 100_000;
/// Items of each of two agents.
const ITEMS: u32 = 10_000;
/// Hours with usage.
const HOURS: u32 = 24 * 365;

/// The receiver of all deliveries.
pub(super) const RECEIVER: &str = "told";
/// How a delivery stands.
const DELIVERED: &str =
    "CASE WHEN i % 100 = 0 THEN 'given_up' WHEN i % 1000 = 1 THEN 'pending' ELSE 'delivered' END";

/// The migrations that sum subtrees, to sum those of rows that are written without a store.
const SUMS: [&str; 2] = [
    include_str!("../../../crates/store-sqlite/migrations/0028_reads.sql"),
    include_str!("../../../crates/store-sqlite/migrations/0032_sums_of_agents.sql"),
];

/// Writes the rows of a tree that has worked for years.
pub(super) fn filled(database: &Path) -> Result<()> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    let insert = |rows: u32, table: &str, columns: &str, values: &str| -> Result<()> {
        let sql = format!(
            "WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < {rows}) \
             INSERT INTO {table} ({columns}) SELECT {values} FROM row"
        );
        connection.execute_batch(&sql).with_context(|| format!("rows of {table}"))
    };
    let agent = |number: &str| format!("printf('agt_%032x', {number})");
    let (own, root) = (agent("i"), agent("1"));
    let parent =
        format!("CASE WHEN i = 1 THEN NULL WHEN i <= 1001 THEN {root} ELSE {} END", agent("2 + i % 1000"));
    let work =
        "CASE WHEN i = 1 OR i % 97 = 0 THEN 'waiting' WHEN i % 1000 = 3 THEN 'failed' ELSE 'succeeded' END";
    insert(
        AGENTS,
        "agents",
        "n, id, owner, root, parent, depth, kind, title, status, waiting_on, stop_reason, epoch, session, created, updated",
        &format!(
            "i, {own}, 'local', {root}, {parent}, (i > 1) + (i > 1001), \
             CASE i WHEN 11 THEN 'rare' ELSE 'researcher' END, 'Prices of trains to place ' || i, {work}, \
             CASE WHEN {work} = 'waiting' THEN 'user' END, CASE WHEN {work} = 'failed' THEN 'error' END, 1, 1, i, i"
        ),
    )?;
    let ended = "CASE WHEN i % 1000 = 7 THEN 'failed' ELSE 'succeeded' END";
    insert(
        RUNS,
        "runs",
        "id, agent, owner, status, stop_reason, kind_version, tasks, model_calls, worked_ms, input_tokens, \
         output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, started, ended, open, spent",
        &format!(
            "printf('run_%032x', i), {}, 'local', {ended}, \
             CASE WHEN i % 1000 = 7 THEN 'error' WHEN i % 5000 = 9 THEN 'max_steps' ELSE 'completed' END, 'v', '[]', \
             2, 900, 900, 90, 0, 0, 0, 1000, i, i, 0, \
             '[{{\"day\":\"2026-01-01\",\"model\":\"a::b\",\"calls\":2,\"unpriced\":0,\"usage\":{{\"input\":900,\
             \"output\":90}},\"cost\":1000}}]'",
            agent("1 + i % 100000")
        ),
    )?;
    insert(
        EVENTS,
        "events",
        "n, agent, at, body",
        &format!(
            "1 << 32 | i, {}, i, CASE WHEN i < {CREATED} THEN '{{\"event\":\"agent_created\",\"parent\":\"' || \
             {root} || '\",\"kind\":\"researcher\",\"title\":\"Prices\"}}' \
             ELSE '{{\"event\":\"agent_status\",\"status\":\"running\"}}' END",
            agent("1 + i % 100000")
        ),
    )?;
    let question = format!(
        "'{{\"id\":\"' || printf('qst_%032x', i) || '\",\"owner\":\"local\",\"root\":\"' || {root} || '\",\"agent\":\"' || \
         {asks} || '\",\"kind\":\"researcher\",\"run\":\"' || printf('run_%032x', i) || '\",\"call\":\"' || \
         printf('cal_%032x', i) || '\",\"about\":\"information\",\"text\":\"Which?\",\"status\":\"open\",' || \
         CASE WHEN i % 10 = 0 THEN '\"due\":\"2027-01-01T00:00:00Z\",' ELSE '' END || \
         '\"created\":\"2026-01-01T00:00:00Z\",\"updated\":\"2026-01-01T00:00:00Z\"}}'",
        asks = agent("i * 97"),
    );
    insert(
        1_000,
        "entities",
        "kind, id, owner, root, parent, status, created, updated, body",
        &format!(
            "'question', printf('qst_%032x', i), 'local', {root}, {}, 'open', i, i, {question}",
            agent("i * 97")
        ),
    )?;
    insert(
        DELIVERIES,
        "entities",
        "kind, id, owner, root, parent, status, created, updated, body",
        &format!(
            "'delivery', printf('dlv_%032x', i), 'local', {root}, NULL, {DELIVERED}, i, i, \
             '{{\"id\":\"' || printf('dlv_%032x', i) || '\",\"owner\":\"local\",\"receiver\":\"{RECEIVER}\",\
             \"occasion\":\"question.opened\",\"subject\":{{\"question\":' || {question} || \
             '}},\"status\":\"' || {DELIVERED} || '\",\"attempts\":1,\"due\":\"2026-01-01T00:00:00Z\",\
             \"created\":\"2026-01-01T00:00:00Z\",\"updated\":\"2026-01-01T00:00:00Z\"}}'",
        ),
    )?;
    insert(
        NOTES,
        "entities",
        "kind, id, owner, root, parent, status, created, updated, body, text",
        &format!(
            "'note', printf('nte_%032x', i), 'local', {root}, {own}, 'kept', i, i, \
             '{{\"id\":\"' || printf('nte_%032x', i) || '\",\"owner\":\"local\",\"root\":\"' || {root} || \
             '\",\"agent\":\"' || {own} || '\",\"title\":\"Prices\",\"content\":\"Trains to place ' || i || \
             '\",\"created\":\"2026-01-01T00:00:00Z\"}}', 'Prices' || char(10) || 'Trains to place ' || i"
        ),
    )?;
    // The root and one other agent have talked much.
    for row in [1, 7] {
        insert(
            ITEMS,
            "items",
            "n, run, session, at, type, body",
            &format!(
                "{row} << 32 | i - 1, printf('run_%032x', {row}), 1, i, iif(i % 2, 'message', 'turn'), \
                 iif(i % 2, '{{\"from\":{{\"by\":\"user\"}},\"text\":\"Which train?\"}}', \
                 '{{\"text\":\"The first one.\"}}')"
            ),
        )?;
    }
    insert(
        HOURS,
        "usage_of_owners",
        "owner, day, hour, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost",
        "'local', date('2025-01-01', '+' || ((i - 1) / 24) || ' days'), (i - 1) % 24, 'a::b', 'researcher', \
         20, 0, 9000, 900, 0, 0, 0, 10000",
    )?;
    SUMS.iter().try_for_each(|sums| connection.execute_batch(sums))?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}
