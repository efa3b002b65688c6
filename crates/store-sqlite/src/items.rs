//! Items.

use entourage_store::ItemQuery;
use entourage_types::{AgentId, Item, ItemBody, RunId, Scope, StepKey};
use rusqlite::{Connection, Row, params};

use crate::{
    fault::Result,
    rows::{count, int, time, unreadable, word},
    select::Select,
};

/// Reads an item whose columns are agent, seq, run, session, at, type, body, step.
fn read(row: &Row<'_>) -> rusqlite::Result<Item> {
    read_of(word(row, 0)?, count(row, 1)?, word(row, 2)?, row, 3)
}

/// Reads an item whose agent, number and run are known; its columns session, at, type, body, step begin at
/// `first`.
pub(crate) fn read_of(
    agent: AgentId,
    seq: u64,
    run: RunId,
    row: &Row<'_>,
    first: usize,
) -> rusqlite::Result<Item> {
    let type_name = row.get_ref(first + 2)?.as_str()?;
    let json = row.get_ref(first + 3)?.as_str()?;
    let step = row.get_ref(first + 4)?.as_str_or_null()?;
    Ok(Item {
        agent,
        seq,
        run,
        session: row.get(first)?,
        at: time(row, first + 1)?,
        step: step.map(StepKey::from),
        body: ItemBody::from_json(type_name, json).map_err(|cause| unreadable(first + 3, cause))?,
    })
}

/// Returns items of one transcript, in order.
pub(crate) fn list(connection: &Connection, scope: &Scope, query: &ItemQuery) -> Result<Vec<Item>> {
    let select = Select::new(
        "SELECT agent, seq, run, session, at, type, body, step FROM items WHERE agent = ? AND seq >= ?",
    )
    .bind(query.agent.to_string())
    .bind(int(query.from));
    let (select, order) = match query.before {
        Some(before) => (select.and("seq < ?").bind(int(before)), "ORDER BY seq DESC LIMIT ?"),
        None => (select, "ORDER BY seq LIMIT ?"),
    };
    let mut items = select
        .only("run = ?", query.run)
        .of(scope, "agents", query.agent)
        .end(order)
        .bind(query.limit)
        .rows_within(query.bytes, connection, read)?;
    if query.before.is_some() {
        items.reverse();
    }
    Ok(items)
}

/// Returns the items of the current session from a number on, in order. Sessions follow each other, so the
/// transcript is read backwards from its end, and no further than to the session's beginning.
pub(crate) fn of_session(
    connection: &Connection,
    agent: AgentId,
    session: u32,
    from: u64,
) -> Result<Vec<Item>> {
    let mut statement = connection.prepare_cached(
        "SELECT agent, seq, run, session, at, type, body, step FROM items \
         WHERE agent = ?1 AND seq >= ?2 ORDER BY seq DESC",
    )?;
    let mut rows = statement.query(params![agent.to_string(), int(from)])?;
    let mut items = Vec::new();
    // Consecutive items are mostly of one run, whose id is then parsed only once.
    let (mut run, mut run_text) = (None, String::new());
    while let Some(row) = rows.next()? {
        if row.get::<_, u32>(3)? != session {
            break;
        }
        let text = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
        let of = match run.filter(|_| text == run_text) {
            Some(run) => run,
            None => {
                run_text = text.to_owned();
                *run.insert(word(row, 2)?)
            }
        };
        items.push(read_of(agent, count(row, 1)?, of, row, 3)?);
    }
    items.reverse();
    Ok(items)
}

/// Writes a new item.
pub(crate) fn insert(connection: &Connection, item: &Item) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO items (agent, seq, run, session, at, type, body, step) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    statement.execute(params![
        item.agent.to_string(),
        int(item.seq),
        item.run.to_string(),
        item.session,
        item.at.micros(),
        item.body.type_name(),
        item.body.to_json()?,
        item.step.as_ref().map(StepKey::to_string),
    ])?;
    Ok(())
}
