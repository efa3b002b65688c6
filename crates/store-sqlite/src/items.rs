//! Items. Those of a transcript have the [keys](KeyRange) of its agent.

use entourage_store::ItemQuery;
use entourage_types::{AgentId, Item, ItemBody, RunId, Scope, StepKey};
use rusqlite::{Connection, Row, params};

use crate::{
    fault::Result,
    key_range::{KeyRange, number},
    rows::{time, unreadable, word},
    select::Select,
};

const COLUMNS: &str = "SELECT n, run, session, at, type, body, step FROM items";
/// Where the block of an agent begins.
const BLOCK: &str = "(SELECT n FROM agents WHERE id = ?) << 32";

/// A number within a block.
fn within(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
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
    let agent = query.agent;
    let select = Select::new(&format!("{COLUMNS} WHERE n >= {BLOCK} | ?"))
        .bind(agent.to_string())
        .bind(within(query.from));
    // One bound above: with two, SQLite searches by one and compares the other with each row from there on.
    let (than, end, order) = match query.before {
        Some(before) => ("<", before, "ORDER BY n DESC LIMIT ?"),
        None => ("<=", u64::MAX, "ORDER BY n LIMIT ?"),
    };
    let select = select.and(&format!("n {than} {BLOCK} | ?")).bind(agent.to_string()).bind(within(end));
    let mut items = select
        .only("run = ?", query.run)
        .of(scope, "agents", query.agent)
        .end(order)
        .bind(query.limit)
        .rows_within(query.bytes, connection, |row| {
            read_of(agent, number(row.get(0)?), word(row, 1)?, row, 2)
        })?;
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
        "SELECT n, run, session, at, type, body, step FROM items \
         WHERE n >= (SELECT n FROM agents WHERE id = ?1) << 32 | ?2 \
         AND n <= (SELECT n FROM agents WHERE id = ?1) << 32 | ?3 ORDER BY n DESC",
    )?;
    let mut rows = statement.query(params![agent.to_string(), within(from), within(u64::MAX)])?;
    let mut items = Vec::new();
    // Consecutive items are mostly of one run, whose id is then parsed only once.
    let (mut run, mut run_text) = (None, String::new());
    while let Some(row) = rows.next()? {
        if row.get::<_, u32>(2)? != session {
            break;
        }
        let text = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let of = match run.filter(|_| text == run_text) {
            Some(run) => run,
            None => {
                run_text = text.to_owned();
                *run.insert(word(row, 1)?)
            }
        };
        items.push(read_of(agent, number(row.get(0)?), of, row, 2)?);
    }
    items.reverse();
    Ok(items)
}

/// Writes a new item into its agent's block.
pub(crate) fn insert(connection: &Connection, transcript: KeyRange, item: &Item) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO items (n, run, session, at, type, body, step) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    statement.execute(params![
        transcript.key(item.seq),
        item.run.to_string(),
        item.session,
        item.at.micros(),
        item.body.type_name(),
        item.body.to_json()?,
        item.step.as_ref().map(StepKey::to_string),
    ])?;
    Ok(())
}
