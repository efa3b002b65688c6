//! Usage of ended runs: kept as sums by owner, hour, model and kind, which the commit that ends a run updates.
//! Reports add the usage of open runs, which are few; only those that name trees, agents or runs read ended
//! ones.

use std::ops::ControlFlow;

use entourage_store::{SpentBy, Sums, UsageQuery, tally_figures};
use entourage_types::{Cost, Hour, HourlyUsage, Owner, Scope, Status, Tally, Usage, UsageRow};
use rusqlite::{Connection, Row, ToSql};

use crate::{
    fault::Result,
    readers::snapshot,
    rows::{count, json, word, word_if_any},
    runs,
    select::Select,
    sums::KeptSums,
};

/// Returns the sums, read in one snapshot.
pub(crate) fn sums(connection: &Connection, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>> {
    let kept = match (query.reads_runs(), query.covers_removed()) {
        (false, _) => Some("usage_of_owners"),
        (true, true) => Some("usage_of_removed"),
        (true, false) => None,
    };
    let runs = if query.reads_runs() { of_runs(scope, &query) } else { of_open_runs(scope) };
    let kept = kept.map(|table| of(table, scope, &query));
    let mut sums = Sums::new(query);
    snapshot(connection, || {
        runs.each(connection, |row| {
            let (spender, spent) = read_run(row)?;
            sums.add(&spender, &spent);
            Ok(enough(&sums))
        })?;
        if let Some(kept) = kept {
            kept.each(connection, |row| {
                let (spender, spent) = read_kept(row)?;
                sums.add(&spender, &[spent]);
                Ok(enough(&sums))
            })?;
        }
        Ok(())
    })?;
    Ok(sums.rows())
}

/// Ends a read once there are more sums than an answer may have.
fn enough(sums: &Sums) -> ControlFlow<()> {
    if sums.are_too_many() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

const RUNS: &str = "SELECT runs.owner, runs.agent, runs.id, runs.spent, agents.kind, agents.root FROM runs";
const THEIR_AGENTS: &str = "LEFT JOIN agents ON agents.id = runs.agent WHERE runs.spent <> '[]'";

/// The query for open runs that used something.
pub(crate) fn of_open_runs(scope: &Scope) -> Select {
    Select::new(&format!("{RUNS} INDEXED BY open_runs {THEIR_AGENTS}"))
        .and(runs::OPEN)
        .seen_by(scope, "+runs.owner")
}

/// The query for runs that used something.
pub(crate) fn of_runs(scope: &Scope, query: &UsageQuery) -> Select {
    // A tree or an agent has few runs, an owner may have many: the plus keeps SQLite from using the owner's
    // index.
    let few = query.root.is_some() || query.agent.is_some() || query.under.is_some();
    Select::new(&format!("{RUNS} {THEIR_AGENTS}"))
        .seen_by(scope, if few { "+runs.owner" } else { "runs.owner" })
        .only("runs.id = ?", query.run)
        .only("runs.agent = ?", query.agent)
        .only("runs.agent IN (SELECT id FROM agents WHERE root = ?)", query.root)
        .only(
            "runs.agent IN (WITH RECURSIVE below (id) AS (SELECT ? UNION SELECT agents.id FROM below \
             JOIN agents ON agents.parent = below.id) SELECT id FROM below)",
            query.under,
        )
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<(SpentBy, Vec<HourlyUsage>)> {
    let spender = SpentBy {
        owner: Owner::new(row.get::<_, String>(0)?),
        agent: Some(word(row, 1)?),
        run: Some(word(row, 2)?),
        kind: row.get(4)?,
        tree: word_if_any(row, 5)?,
    };
    Ok((spender, json(row, 3)?))
}

/// The columns of a kept sum.
pub(crate) const KEPT: &str =
    "owner, day, hour, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost";

/// The query for the sums in this table.
pub(crate) fn of(table: &str, scope: &Scope, query: &UsageQuery) -> Select {
    Select::new(&format!("SELECT {KEPT} FROM {table} WHERE true"))
        .seen_by(scope, "owner")
        .only("day >= ?", query.from)
        .only("day <= ?", query.to)
        .only("kind = ?", query.kind.as_deref())
        .only("model = ?", query.model.as_deref())
}

pub(crate) fn read_kept(row: &Row<'_>) -> rusqlite::Result<(SpentBy, HourlyUsage)> {
    let owner = Owner::new(row.get::<_, String>(0)?);
    let kind = Some(row.get::<_, String>(4)?).filter(|kind| !kind.is_empty());
    let usage = Usage {
        input: count(row, 7)?,
        output: count(row, 8)?,
        cached: count(row, 9)?,
        cache_written: count(row, 10)?,
        reasoning: count(row, 11)?,
    };
    let cost = Cost::from_nanos(count(row, 12)?);
    let tally = Tally { calls: count(row, 5)?, unpriced: count(row, 6)?, usage, cost };
    // Below zero where it is not known.
    let hour = u8::try_from(row.get::<_, i64>(2)?).ok().and_then(|hour| Hour::try_from(hour).ok());
    let spent = HourlyUsage { day: word(row, 1)?, hour, model: row.get(3)?, tally };
    Ok((SpentBy { owner, kind, tree: None, agent: None, run: None }, spent))
}

/// What the kept sums contain of a run: all that it used, once it has ended.
pub(crate) fn kept_of(status: Status, spent: &[HourlyUsage]) -> &[HourlyUsage] {
    if status.is_terminal() { spent } else { &[] }
}

/// Changes the kept sums from what they contain of a run `before` its row is written to what they contain
/// `after`.
pub(crate) fn keep(
    connection: &Connection,
    owner: &Owner,
    kind: &str,
    before: &[HourlyUsage],
    after: &[HourlyUsage],
) -> Result<()> {
    let same = |one: &HourlyUsage, other: &HourlyUsage| {
        (one.day, one.hour, &one.model) == (other.day, other.hour, &other.model)
    };
    for now in after {
        let then = before.iter().find(|then| same(then, now)).map(|then| then.tally).unwrap_or_default();
        add(connection, owner, kind, now, difference(then, now.tally))?;
    }
    // Rows are written as a whole: a new row may have less usage.
    for gone in before.iter().filter(|then| !after.iter().any(|now| same(then, now))) {
        add(connection, owner, kind, gone, difference(gone.tally, Tally::default()))?;
    }
    Ok(())
}

const COLUMNS: [&str; 8] =
    ["calls", "unpriced", "input", "output", "cached", "cache_written", "reasoning", "cost"];

/// Returns the difference from one tally to another, in the order of the columns.
fn difference(then: Tally, now: Tally) -> [i64; 8] {
    let (then, now) = (tally_figures(then), tally_figures(now));
    std::array::from_fn(|at| now[at] - then[at])
}

/// The hour of a sum whose hour is not known.
const UNKNOWN: i64 = -1;

fn add(connection: &Connection, owner: &Owner, kind: &str, of: &HourlyUsage, change: [i64; 8]) -> Result<()> {
    let (owner, day) = (owner.as_str(), of.day.to_string());
    let hour = of.hour.map_or(UNKNOWN, |hour| i64::from(u8::from(hour)));
    let row: [(&str, &dyn ToSql); 5] =
        [("owner", &owner), ("day", &day), ("hour", &hour), ("model", &of.model), ("kind", &kind)];
    let sums = KeptSums { table: "usage_of_owners", row: &row, columns: &COLUMNS };
    sums.add(connection, &change)
}
