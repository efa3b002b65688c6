//! Events: numbered in the transaction that they tell of.
//!
//! A row's key is one integer, the number of the row of its tree's root above the event's own number: the
//! events of a tree lie together, and what is appended at the table's end splits no page.

use entourage_types::{AgentId, Event, EventBody, Scope, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    agents,
    fault::Result,
    items,
    readers::snapshot,
    rows::{count, int, json, time, word, word_if_any},
    select::Select,
    writer_cache::WriterCache,
};

/// Before all events.
pub(crate) const NEVER: Time = Time::from_micros(i64::MIN);

/// Bytes of events that are read at once, the last event's aside.
const BYTES: usize = 256 << 10;

/// The row of a tree's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tree(i64);

impl Tree {
    /// The tree whose root stands in this row.
    pub(crate) const fn of_row(row: i64) -> Self {
        Self(row)
    }

    /// The tree of this root; none when there is no such agent.
    pub(crate) fn of(connection: &Connection, root: AgentId) -> Result<Option<Self>> {
        Ok(agents::row(connection, root)?.map(Self))
    }

    /// The key of the event of this number. A number that is too large for one stands for the last.
    pub(crate) fn key(self, seq: u64) -> i64 {
        self.0 << u32::BITS | i64::from(u32::try_from(seq).unwrap_or(u32::MAX))
    }
}

/// The number of the event in a row of this key.
fn number(key: i64) -> u64 {
    u64::from(key as u32)
}

/// Events of one tree above a number, in order, items joined in.
pub(crate) fn list(
    connection: &Connection,
    scope: &Scope,
    root: AgentId,
    after: u64,
    limit: u32,
) -> Result<Vec<Event>> {
    // The row of a root that goes meanwhile may be another's next.
    snapshot(connection, || {
        let Some(tree) = Tree::of(connection, root)? else { return Ok(Vec::new()) };
        Select::new(
            "SELECT e.n, e.agent, e.at, e.item_seq, e.body, i.run, i.session, i.at, i.type, i.body, i.step \
         FROM events e LEFT JOIN items i ON i.agent = e.agent AND i.seq = e.item_seq \
         WHERE e.n > ? AND e.n <= ?",
        )
        .bind(tree.key(after))
        .bind(tree.key(u64::MAX))
        .of(scope, "agents", root)
        .end("ORDER BY e.n LIMIT ?")
        .bind(limit)
        .rows_within(BYTES, connection, |row| read(root, row))
    })
}

fn read(root: AgentId, row: &Row<'_>) -> rusqlite::Result<Event> {
    let agent = word(row, 1)?;
    let body = match row.get::<_, Option<i64>>(3)? {
        Some(_) => {
            let item_seq = count(row, 3)?;
            // The transcript may be forgotten while the tree's last event still names it.
            let run = word_if_any(row, 5)?;
            let item = run.map(|run| items::read_of(agent, item_seq, run, row, 6)).transpose()?;
            EventBody::Item { item_seq, item }
        }
        None => json(row, 4)?,
    };
    Ok(Event { root, seq: number(row.get(0)?), agent, at: time(row, 2)?, body })
}

/// The number of the tree's last event for whoever sees the tree, 0 otherwise or when it has none.
pub(crate) fn last_seen(connection: &Connection, scope: &Scope, root: AgentId) -> Result<u64> {
    snapshot(connection, || {
        let seen = agents::get(connection, root)?.is_some_and(|agent| scope.sees(&agent.owner));
        match Tree::of(connection, root)?.filter(|_| seen) {
            Some(tree) => Ok(last(connection, tree)?.0),
            None => Ok(0),
        }
    })
}

/// Numbers what a commit tells, writes it, and returns it as subscribers get it.
pub(crate) fn append(
    connection: &Connection,
    known: &mut WriterCache,
    at: Time,
    told: Vec<(AgentId, AgentId, EventBody)>,
) -> Result<Vec<Event>> {
    let mut events: Vec<Event> = Vec::with_capacity(told.len());
    for (root, agent, body) in told {
        let (tree, seq, at) = known.next_event(connection, root, at)?;
        let event = Event { root, seq, agent, at, body };
        insert(connection, tree, &event)?;
        events.push(event);
    }
    Ok(events)
}

/// The number of the tree's last event and when it was, 0 and the beginning of time when it has none.
pub(crate) fn last(connection: &Connection, tree: Tree) -> Result<(u64, Time)> {
    let mut statement = connection
        .prepare_cached("SELECT n, at FROM events WHERE n > ?1 AND n <= ?2 ORDER BY n DESC LIMIT 1")?;
    let read = |row: &Row<'_>| Ok((number(row.get(0)?), time(row, 1)?));
    let last = statement.query_row([tree.key(0), tree.key(u64::MAX)], read).optional()?;
    Ok(last.unwrap_or((0, NEVER)))
}

fn insert(connection: &Connection, tree: Tree, event: &Event) -> Result<()> {
    let (item_seq, body) = match &event.body {
        EventBody::Item { item_seq, .. } => (Some(int(*item_seq)), None),
        other => (None, Some(serde_json::to_string(other)?)),
    };
    let mut statement = connection
        .prepare_cached("INSERT INTO events (n, agent, at, item_seq, body) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    statement.execute(params![
        tree.key(event.seq),
        event.agent.to_string(),
        event.at.micros(),
        item_seq,
        body,
    ])?;
    Ok(())
}
