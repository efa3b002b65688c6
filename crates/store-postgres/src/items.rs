//! Items of transcripts.

use entourage_store::ItemQuery;
use entourage_types::{AgentId, Item, ItemBody, RunId, Scope, StepKey};
use tokio_postgres::Row;

use crate::{
    fault::Result,
    rows::{count, get, id, int, small, time, unreadable},
    statement::{Rows, Statement, values},
};

/// The columns of an item, which [`read`] expects in this order.
pub(crate) const COLUMNS: &str =
    "items.seq, items.run, items.session, items.at, items.type, items.step, items.body";
/// How many these are.
pub(crate) const WIDTH: usize = 7;
/// How large an item is.
const SIZE: &str = "octet_length(items.body)::bigint + 100";

/// Reads an item of an agent, whose columns begin at `first`.
pub(crate) fn read(agent: AgentId, row: &Row, first: usize) -> Result<Item> {
    let body = ItemBody::from_json(get(row, first + 4)?, get(row, first + 6)?);
    let step: Option<&str> = get(row, first + 5)?;
    Ok(Item {
        agent,
        seq: count(row, first)?,
        run: id(row, first + 1, RunId::from_uuid)?,
        session: small(row, first + 2)?,
        at: time(row, first + 3)?,
        step: step.map(StepKey::from),
        body: body.map_err(|error| unreadable(first + 6, error))?,
    })
}

/// Reads the items of a transcript, in order.
pub(crate) fn read_all(rows: &[Row], query: &ItemQuery) -> Result<Vec<Item>> {
    let mut items = rows.iter().map(|row| read(query.agent, row, 0)).collect::<Result<Vec<_>>>()?;
    if query.before.is_some() {
        items.reverse();
    }
    Ok(items)
}

/// The query for items of one transcript; those before a number come backwards.
pub(crate) fn select(scope: &Scope, query: &ItemQuery) -> Statement {
    let agent = query.agent.uuid();
    let order = if query.before.is_some() { "ORDER BY seq DESC LIMIT ?" } else { "ORDER BY seq LIMIT ?" };
    Statement::new(&format!("SELECT {COLUMNS}, {SIZE} AS size FROM items WHERE agent = ? AND seq >= ?"))
        .bind(agent)
        .bind(int(query.from))
        .only_if("seq < ?", query.before.map(int))
        .only_if("run = ?", query.run.map(RunId::uuid))
        .of(scope, "agents", agent)
        .end(order)
        .bind(i64::from(query.limit))
        .within(query.bytes)
}

/// The query for the items of an agent's current session, from a number on.
pub(crate) fn of_session(agent: AgentId, from: u64) -> Statement {
    Statement::whole(&format!(
        "SELECT {COLUMNS} FROM items WHERE agent = $1 AND seq >= $2 \
         AND session = (SELECT session FROM agents WHERE id = $1) ORDER BY seq"
    ))
    .bind(agent.uuid())
    .bind(int(from))
}

/// Writes new items.
pub(crate) fn insert(items: &[&Item]) -> Result<Vec<Statement>> {
    let head = "INSERT INTO items (agent, seq, run, session, at, type, step, body) VALUES";
    let mut rows = Rows::new(head, &["?"; 8], "");
    for item in items {
        rows.push(values![
            item.agent.uuid(),
            int(item.seq),
            item.run.uuid(),
            i64::from(item.session),
            item.at.micros(),
            item.body.type_name(),
            item.step.as_ref().map(StepKey::to_string),
            item.body.to_json()?,
        ]);
    }
    Ok(rows.statements())
}
