//! Events: numbered in the transaction that they tell of.

use entourage_types::{AgentId, Event, EventBody, Scope, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    agents,
    fault::Result,
    items,
    known::Known,
    rows::{count, int, json, time, word, word_if_any},
    select::Select,
};

/// Bytes of events that are read at once, the last event's aside.
const BYTES: usize = 256 << 10;

/// Events of one tree above a number, in order, items joined in.
pub(crate) fn list(
    connection: &Connection,
    scope: &Scope,
    root: AgentId,
    after: u64,
    limit: u32,
) -> Result<Vec<Event>> {
    Select::new(
        "SELECT e.root, e.seq, e.agent, e.at, e.item_seq, e.body, \
         i.run, i.session, i.at, i.type, i.body \
         FROM events e LEFT JOIN items i ON i.agent = e.agent AND i.seq = e.item_seq \
         WHERE e.root = ? AND e.seq > ?",
    )
    .bind(root.to_string())
    .bind(int(after))
    .of(scope, "agents", root)
    .end("ORDER BY e.seq LIMIT ?")
    .bind(limit)
    .rows_within(BYTES, connection, read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Event> {
    let (root, agent) = (word(row, 0)?, word(row, 2)?);
    let body = match row.get::<_, Option<i64>>(4)? {
        Some(_) => {
            let item_seq = count(row, 4)?;
            // The transcript may be forgotten while the tree's last event still names it.
            let run = word_if_any(row, 6)?;
            let item = run.map(|run| items::read_of(agent, item_seq, run, row, 7)).transpose()?;
            EventBody::Item { item_seq, item }
        }
        None => json(row, 5)?,
    };
    Ok(Event { root, seq: count(row, 1)?, agent, at: time(row, 3)?, body })
}

/// The number of the tree's last event for whoever sees the tree, 0 otherwise or when it has none.
pub(crate) fn last_seen(connection: &Connection, scope: &Scope, root: AgentId) -> Result<u64> {
    let seen = agents::get(connection, root)?.is_some_and(|agent| scope.sees(&agent.owner));
    if seen { last(connection, root) } else { Ok(0) }
}

/// Numbers what a commit tells, writes it, and returns it as subscribers get it.
pub(crate) fn append(
    connection: &Connection,
    known: &mut Known,
    at: Time,
    told: Vec<(AgentId, AgentId, EventBody)>,
) -> Result<Vec<Event>> {
    let mut events: Vec<Event> = Vec::with_capacity(told.len());
    for (root, agent, body) in told {
        let event = Event { root, seq: known.next_event(connection, root)?, agent, at, body };
        insert(connection, &event)?;
        events.push(event);
    }
    Ok(events)
}

/// The number of the tree's last event, 0 when it has none.
pub(crate) fn last(connection: &Connection, root: AgentId) -> Result<u64> {
    let mut statement =
        connection.prepare_cached("SELECT seq FROM events WHERE root = ?1 ORDER BY seq DESC LIMIT 1")?;
    Ok(statement.query_row([root.to_string()], |row| count(row, 0)).optional()?.unwrap_or(0))
}

fn insert(connection: &Connection, event: &Event) -> Result<()> {
    let (item_seq, body) = match &event.body {
        EventBody::Item { item_seq, .. } => (Some(int(*item_seq)), None),
        other => (None, Some(serde_json::to_string(other)?)),
    };
    let mut statement = connection.prepare_cached(
        "INSERT INTO events (root, seq, agent, at, name, item_seq, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    statement.execute(params![
        event.root.to_string(),
        int(event.seq),
        event.agent.to_string(),
        event.at.micros(),
        event.body.name(),
        item_seq,
        body,
    ])?;
    Ok(())
}
