//! What was used: read off the runs that are there, and off what removed ones left behind.

use entourage_store::{Spender, Sums, UsageQuery};
use entourage_types::{Cost, Owner, Scope, Spent, Tally, Usage, UsageRow};
use rusqlite::{Connection, Row};

use crate::{
    fault::Result,
    readers::snapshot,
    rows::{count, json, word, word_if_any},
    select::Select,
};

/// The sums of one moment.
pub(crate) fn sums(connection: &Connection, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>> {
    let (runs, removed) = (of_runs(scope, &query), query.covers_removed().then(|| of_removed(scope)));
    let mut sums = Sums::new(query);
    snapshot(connection, || {
        runs.rows(connection, |row| read_run(row).map(|(spender, spent)| sums.add(&spender, &spent)))?;
        if let Some(removed) = removed {
            removed.rows(connection, |row| {
                read_removed(row).map(|(spender, spent)| sums.add(&spender, &[spent]))
            })?;
        }
        Ok(())
    })?;
    Ok(sums.rows())
}

/// The query for runs that used something.
pub(crate) fn of_runs(scope: &Scope, query: &UsageQuery) -> Select {
    let from = if query.names_agents() {
        "agents.kind, agents.root FROM runs LEFT JOIN agents ON agents.id = runs.agent"
    } else {
        "NULL, NULL FROM runs"
    };
    // What few runs are found by goes before the owner, of whom there may be many.
    let few = query.root.is_some() || query.agent.is_some();
    Select::new(&format!(
        "SELECT runs.owner, runs.agent, runs.id, runs.spent, {from} WHERE runs.spent <> '[]'"
    ))
    .seen_by(scope, if few { "+runs.owner" } else { "runs.owner" })
    .only("runs.id = ?", query.run)
    .only("runs.agent = ?", query.agent)
    .only("runs.agent IN (SELECT id FROM agents WHERE root = ?)", query.root)
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<(Spender, Vec<Spent>)> {
    let spender = Spender {
        owner: Owner::new(row.get::<_, String>(0)?),
        agent: Some(word(row, 1)?),
        run: Some(word(row, 2)?),
        kind: row.get(4)?,
        tree: word_if_any(row, 5)?,
    };
    Ok((spender, json(row, 3)?))
}

fn of_removed(scope: &Scope) -> Select {
    let columns = "owner, day, model, calls, unpriced, input, output, cached, cache_written, reasoning, cost";
    Select::new(&format!("SELECT {columns} FROM usage_of_removed WHERE true")).seen_by(scope, "owner")
}

fn read_removed(row: &Row<'_>) -> rusqlite::Result<(Spender, Spent)> {
    let owner = Owner::new(row.get::<_, String>(0)?);
    let usage = Usage {
        input: count(row, 5)?,
        output: count(row, 6)?,
        cached: count(row, 7)?,
        cache_written: count(row, 8)?,
        reasoning: count(row, 9)?,
    };
    let cost = Cost::from_nanos(count(row, 10)?);
    let tally = Tally { calls: count(row, 3)?, unpriced: count(row, 4)?, usage, cost };
    let spent = Spent { day: word(row, 1)?, model: row.get(2)?, tally };
    Ok((Spender { owner, kind: None, tree: None, agent: None, run: None }, spent))
}
