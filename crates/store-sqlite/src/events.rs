//! Events, numbered in the transaction that they report. Those of a tree have the [keys](KeyRange) of its root.

use std::sync::LazyLock;

use entourage_store::EventQuery;
use entourage_types::{AgentId, Event, EventBody, EventName, NewEvent, Scope, Time};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use crate::{
    agents,
    fault::Result,
    items,
    key_range::{KeyRange, number},
    readers::snapshot,
    rows::{count, int, json, time, word, word_if_any},
    select::Select,
    writer_cache::WriterCache,
};

/// A time before all events.
pub(crate) const NEVER: Time = Time::from_micros(i64::MIN);

/// The maximum number of bytes of events that one read returns, not counting the last event.
const BYTES: usize = 256 << 10;

/// How many events a statement inserts; a commit seldom has more.
const ROWS_AT_ONCE: usize = 8;
/// The statements that insert so many events.
static INSERTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of = |rows| vec!["(?, ?, ?, ?, ?)"; rows].join(", ");
    (0..=ROWS_AT_ONCE)
        .map(|rows| format!("INSERT INTO events (n, agent, at, item_seq, body) VALUES {}", of(rows)))
        .collect()
});

/// Returns events of one tree by query, in order, with their items joined in.
pub(crate) fn list(connection: &Connection, scope: &Scope, query: &EventQuery) -> Result<Vec<Event>> {
    let root = query.root;
    // In one snapshot: if the root is removed meanwhile, another agent may get its row number.
    snapshot(connection, || {
        let Some(tree) = KeyRange::of(connection, root)? else { return Ok(Vec::new()) };
        let last = query.before.map_or(u64::MAX, |before| before.saturating_sub(1));
        let select = Select::new(
            "SELECT e.n, e.agent, e.at, e.item_seq, e.body, i.run, i.session, i.at, i.type, i.body, i.step \
         FROM events e LEFT JOIN agents a ON a.id = e.agent LEFT JOIN items i ON i.n = a.n << 32 | e.item_seq \
         WHERE e.n > ? AND e.n <= ?",
        )
        .bind(tree.key(query.after))
        .bind(tree.key(last))
        .of(scope, "agents", root)
        .only("e.agent = ?", query.agent);
        let select = match query.name {
            // What an item's event says is in the item alone.
            Some(EventName::Item) => select.and("e.item_seq IS NOT NULL"),
            name => select.only("e.body ->> '$.event' = ?", name),
        };
        let order = if query.latest { "ORDER BY e.n DESC LIMIT ?" } else { "ORDER BY e.n LIMIT ?" };
        let select = select.end(order).bind(query.limit);
        let mut events = select.rows_within(BYTES, connection, |row| read(root, row))?;
        if query.latest {
            events.reverse();
        }
        Ok(events)
    })
}

fn read(root: AgentId, row: &Row<'_>) -> rusqlite::Result<Event> {
    let agent = word(row, 1)?;
    let body = match row.get::<_, Option<i64>>(3)? {
        Some(_) => {
            let item_seq = count(row, 3)?;
            // The transcript may have been removed while the tree's last event still refers to it.
            let run = word_if_any(row, 5)?;
            let item = run.map(|run| items::read_of(agent, item_seq, run, row, 6)).transpose()?;
            EventBody::Item { item_seq, item }
        }
        None => json(row, 4)?,
    };
    Ok(Event { root, seq: number(row.get(0)?), agent, at: time(row, 2)?, body })
}

/// Returns the number of the tree's last event, 0 if it has none or the scope does not include the tree.
pub(crate) fn last_seen(connection: &Connection, scope: &Scope, root: AgentId) -> Result<u64> {
    snapshot(connection, || {
        let seen = agents::get(connection, root)?.is_some_and(|agent| scope.sees(&agent.owner));
        match KeyRange::of(connection, root)?.filter(|_| seen) {
            Some(tree) => Ok(last(connection, tree)?.0),
            None => Ok(0),
        }
    })
}

/// Numbers the events of a commit, writes them, and returns them as subscribers get them.
pub(crate) fn append(
    connection: &Connection,
    cache: &mut WriterCache,
    at: Time,
    derived: Vec<NewEvent>,
) -> Result<Vec<Event>> {
    let mut events: Vec<Event> = Vec::with_capacity(derived.len());
    let mut keys = Vec::with_capacity(derived.len());
    for NewEvent { root, agent, body } in derived {
        let (tree, seq, at) = cache.next_event(connection, root, at)?;
        keys.push(tree.key(seq));
        events.push(Event { root, seq, agent, at, body });
    }
    for (keys, events) in keys.chunks(ROWS_AT_ONCE).zip(events.chunks(ROWS_AT_ONCE)) {
        insert(connection, keys, events)?;
    }
    Ok(events)
}

/// Returns the number and the time of the tree's last event, 0 and [`NEVER`] if it has none.
pub(crate) fn last(connection: &Connection, tree: KeyRange) -> Result<(u64, Time)> {
    let mut statement = connection
        .prepare_cached("SELECT n, at FROM events WHERE n > ?1 AND n <= ?2 ORDER BY n DESC LIMIT 1")?;
    let read = |row: &Row<'_>| Ok((number(row.get(0)?), time(row, 1)?));
    let last = statement.query_row([tree.key(0), tree.key(u64::MAX)], read).optional()?;
    Ok(last.unwrap_or((0, NEVER)))
}

/// Inserts events under their keys by one statement: beginning a statement costs as much as a row.
fn insert(connection: &Connection, keys: &[i64], events: &[Event]) -> Result<()> {
    let insert = &INSERTS[events.len()];
    let mut statement = connection.prepare_cached(insert)?;
    let mut parameters = 1..;
    let mut bind =
        |value: &dyn ToSql| parameters.next().map_or(Ok(()), |at| statement.raw_bind_parameter(at, value));
    for (key, event) in keys.iter().zip(events) {
        let (item_seq, body) = match &event.body {
            EventBody::Item { item_seq, .. } => (Some(int(*item_seq)), None),
            other => (None, Some(serde_json::to_string(other)?)),
        };
        let (agent, at) = (event.agent.to_string(), event.at.micros());
        let values: [&dyn ToSql; 5] = [key, &agent, &at, &item_seq, &body];
        values.into_iter().try_for_each(&mut bind)?;
    }
    statement.raw_execute()?;
    Ok(())
}
