//! Events, numbered in the transaction that they report, while it holds the row of their tree.

use std::collections::BTreeMap;

use entourage_store::{EventQuery, monotonic_time};
use entourage_types::{AgentId, Event, EventBody, EventName, NewEvent, Scope, Time};
use tokio_postgres::Row;

use crate::{
    fault::Result,
    items,
    rows::{count, get, id, int, json, time},
    statement::{Rows, Statement, values},
};

/// The maximum number of bytes of events that one read returns, not counting the last event.
const BYTES: usize = 256 << 10;

/// The query for events of one tree; the latest ones come backwards.
pub(crate) fn select(scope: &Scope, query: &EventQuery) -> Statement {
    let select = Statement::new(
        "SELECT e.seq, e.agent, e.at, e.item_seq, e.body, items.seq AS number, items.run, items.session, \
         items.at AS since, items.type, items.step, items.body AS item, \
         coalesce(octet_length(e.body), 0)::bigint + coalesce(octet_length(items.body), 0) + 100 AS size \
         FROM events e LEFT JOIN items ON items.agent = e.agent AND items.seq = e.item_seq \
         WHERE e.root = ? AND e.seq > ?",
    )
    .bind(query.root.uuid())
    .bind(int(query.after))
    .only_if("e.seq < ?", query.before.map(int))
    .of(scope, "agents", query.root.uuid())
    .only_if("e.agent = ?", query.agent.map(AgentId::uuid));
    let select = match query.name {
        // What an item's event says is in the item alone.
        Some(EventName::Item) => select.and("e.item_seq IS NOT NULL"),
        name => select.only("e.body::json ->> 'event' = ?", name),
    };
    let order = if query.latest { "ORDER BY e.seq DESC LIMIT ?" } else { "ORDER BY e.seq LIMIT ?" };
    select.end(order).bind(i64::from(query.limit)).within(BYTES)
}

/// Reads the events of a query, in order.
pub(crate) fn read_all(rows: &[Row], query: &EventQuery) -> Result<Vec<Event>> {
    let mut events = rows.iter().map(|row| read(query.root, row)).collect::<Result<Vec<_>>>()?;
    if query.latest {
        events.reverse();
    }
    Ok(events)
}

fn read(root: AgentId, row: &Row) -> Result<Event> {
    let agent = id(row, 1, AgentId::from_uuid)?;
    let body = match get::<Option<i64>>(row, 3)? {
        Some(_) => {
            // The transcript may have been removed while the tree's last event still refers to it.
            let is_there = get::<Option<i64>>(row, 5)?.is_some();
            let item = is_there.then(|| items::read(agent, row, 5)).transpose()?;
            EventBody::Item { item_seq: count(row, 3)?, item }
        }
        None => json(row, 4)?,
    };
    Ok(Event { root, seq: count(row, 0)?, agent, at: time(row, 2)?, body })
}

/// The query for the number of a tree's last event, if the scope includes the tree.
pub(crate) fn last(scope: &Scope, root: AgentId) -> Statement {
    let last = Statement::new("SELECT last_event FROM trees WHERE root = ?").bind(root.uuid());
    last.of(scope, "agents", root.uuid())
}

/// The last event of a tree: its number and its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Last {
    pub(crate) seq: u64,
    pub(crate) at: Time,
}

impl Last {
    /// That of a tree without any.
    pub(crate) const NONE: Self = Self { seq: 0, at: Time::from_micros(i64::MIN) };
}

/// Numbers the events of a commit: each one has the next number of its tree, and no earlier time than that before it.
pub(crate) fn number(at: Time, derived: Vec<NewEvent>, trees: &mut BTreeMap<AgentId, Last>) -> Vec<Event> {
    let number = |NewEvent { root, agent, body }| {
        let last = trees.entry(root).or_insert(Last::NONE);
        *last = Last { seq: last.seq + 1, at: monotonic_time(last.at, at) };
        Event { root, seq: last.seq, agent, at: last.at, body }
    };
    derived.into_iter().map(number).collect()
}

/// Writes events, and which is the last one of each of their trees.
pub(crate) fn insert(events: &[Event]) -> Result<Vec<Statement>> {
    let mut rows =
        Rows::new("INSERT INTO events (root, seq, agent, at, item_seq, body) VALUES", &["?"; 6], "");
    let mut last: BTreeMap<AgentId, &Event> = BTreeMap::new();
    for event in events {
        last.insert(event.root, event);
        let (item, body) = match &event.body {
            EventBody::Item { item_seq, .. } => (Some(int(*item_seq)), None),
            other => (None, Some(serde_json::to_string(other)?)),
        };
        let (root, agent) = (event.root.uuid(), event.agent.uuid());
        rows.push(values![root, int(event.seq), agent, event.at.micros(), item, body]);
    }
    let trees = last.values().map(|event| {
        Statement::whole("UPDATE trees SET last_event = $2, last_at = $3 WHERE root = $1")
            .bind(event.root.uuid())
            .bind(int(event.seq))
            .bind(event.at.micros())
    });
    let trees: Vec<Statement> = trees.collect();
    let mut statements = rows.statements();
    statements.extend(trees);
    Ok(statements)
}
