//! Usage of ended runs: kept as sums by owner, hour, model and kind, which the commit that ends a run updates.
//! Reports add the usage of open runs, which are few; only those that name trees, agents or runs read ended ones.

use std::collections::BTreeMap;

use entourage_store::{SpentBy, Sums, UsageQuery, tally_figures};
use entourage_types::{AgentId, Cost, Hour, HourlyUsage, Owner, RunId, Scope, Tally, Usage, UsageRow};
use tokio_postgres::Row;

use crate::{
    fault::Result,
    rows::{count, get, id, id_if_any, json, owner, word},
    statement::{Statement, storable},
};

/// Over how many rows a sum is spread.
const SHARDS: u128 = 16;
/// The hour of a sum whose hour is not known.
const UNKNOWN: i16 = -1;
const FIGURES: [&str; 8] =
    ["calls", "unpriced", "input", "output", "cached", "cache_written", "reasoning", "cost"];
const RUNS: &str = "SELECT runs.owner, runs.agent, runs.id, runs.spent, agents.kind, agents.root FROM runs \
                    LEFT JOIN agents ON agents.id = runs.agent WHERE runs.spent <> '[]'";

/// The queries behind a report, which are to be read in one snapshot: for runs, and perhaps for kept sums.
pub(crate) fn queries(scope: &Scope, query: &UsageQuery) -> Vec<Statement> {
    let kept = match (query.reads_runs(), query.covers_removed()) {
        (false, _) => Some("usage_of_owners"),
        (true, true) => Some("usage_of_removed"),
        (true, false) => None,
    };
    let runs = match query.reads_runs() {
        true => of_runs(scope, query),
        false => Statement::new(RUNS).and("runs.ended_as IS NULL").seen_by(scope, "runs.owner"),
    };
    [Some(runs), kept.map(|table| of_kept(table, scope, query))].into_iter().flatten().collect()
}

/// Adds up what these queries have found.
pub(crate) fn sums(found: &[Vec<Row>], query: UsageQuery) -> Result<Vec<UsageRow>> {
    let mut sums = Sums::new(query);
    for row in found.first().into_iter().flatten() {
        let spender = SpentBy {
            owner: owner(row, 0)?,
            agent: Some(id(row, 1, AgentId::from_uuid)?),
            run: Some(id(row, 2, RunId::from_uuid)?),
            kind: get(row, 4)?,
            tree: id_if_any(row, 5, AgentId::from_uuid)?,
        };
        sums.add(&spender, &json::<Vec<HourlyUsage>>(row, 3)?);
        if sums.are_too_many() {
            return Ok(sums.rows());
        }
    }
    for row in found.get(1).into_iter().flatten() {
        let (spender, spent) = read_kept(row)?;
        sums.add(&spender, &[spent]);
        if sums.are_too_many() {
            break;
        }
    }
    Ok(sums.rows())
}

fn of_runs(scope: &Scope, query: &UsageQuery) -> Statement {
    Statement::new(RUNS)
        .seen_by(scope, "runs.owner")
        .only_if("runs.id = ?", query.run.map(RunId::uuid))
        .only_if("runs.agent = ?", query.agent.map(AgentId::uuid))
        .only_if("runs.agent IN (SELECT id FROM agents WHERE root = ?)", query.root.map(AgentId::uuid))
        .only_if(
            "runs.agent IN (WITH RECURSIVE below (id) AS (SELECT ?::uuid UNION SELECT agents.id FROM below \
             JOIN agents ON agents.parent = below.id) SELECT id FROM below)",
            query.under.map(AgentId::uuid),
        )
}

/// What a kept sum is of.
const SUM_OF: &str = "owner, day, hour, model, kind";

/// The columns of a kept sum, over its shards.
fn kept() -> String {
    let figures =
        FIGURES.map(|figure| format!("greatest(least(sum({figure}), 9223372036854775807), 0)::bigint"));
    format!("{SUM_OF}, {}", figures.join(", "))
}

/// The text of the query for all sums in this table.
pub(crate) fn of_all(table: &str) -> String {
    format!("SELECT {} FROM {table} GROUP BY {SUM_OF} ORDER BY {SUM_OF}", kept())
}

fn of_kept(table: &str, scope: &Scope, query: &UsageQuery) -> Statement {
    Statement::new(&format!("SELECT {} FROM {table} WHERE true", kept()))
        .seen_by(scope, "owner")
        .only("day >= ?", query.from)
        .only("day <= ?", query.to)
        .only("kind = ?", query.kind.as_deref())
        .only("model = ?", query.model.as_deref())
        .end(&format!("GROUP BY {SUM_OF}"))
}

pub(crate) fn read_kept(row: &Row) -> Result<(SpentBy, HourlyUsage)> {
    let kind = Some(get::<String>(row, 4)?).filter(|kind| !kind.is_empty());
    let usage = Usage {
        input: count(row, 7)?,
        output: count(row, 8)?,
        cached: count(row, 9)?,
        cache_written: count(row, 10)?,
        reasoning: count(row, 11)?,
    };
    let tally = Tally {
        calls: count(row, 5)?,
        unpriced: count(row, 6)?,
        usage,
        cost: Cost::from_nanos(count(row, 12)?),
    };
    let hour = u8::try_from(get::<i16>(row, 2)?).ok().and_then(|hour| Hour::try_from(hour).ok());
    let spent = HourlyUsage { day: word(row, 1)?, hour, model: get(row, 3)?, tally };
    Ok((SpentBy { owner: owner(row, 0)?, kind, tree: None, agent: None, run: None }, spent))
}

/// Owner, day, hour, model, kind and shard, in the order in which all commits change rows.
type Key = (String, String, i16, String, String, i16);

/// What is added to kept sums, and taken away.
#[derive(Debug, Default)]
pub(crate) struct Additions(BTreeMap<Key, [i64; 8]>);

impl Additions {
    /// Adds what a run of an agent of this tree and kind used, or takes it away.
    pub(crate) fn add(
        &mut self,
        (owner, root, kind): (&Owner, AgentId, &str),
        spent: &[HourlyUsage],
        sign: i64,
    ) {
        let shard = i16::try_from(root.uuid().as_u128() % SHARDS).unwrap_or_default();
        for HourlyUsage { day, hour, model, tally } in spent {
            let hour = hour.map_or(UNKNOWN, |hour| i16::from(u8::from(hour)));
            let (owner, model) = (owner.to_string(), storable(model.clone()));
            let sums =
                self.0.entry((owner, day.to_string(), hour, model, kind.to_owned(), shard)).or_default();
            sums.iter_mut()
                .zip(tally_figures(*tally))
                .for_each(|(sum, by)| *sum = sum.saturating_add(sign * by));
        }
    }

    /// The statement that changes this table, if anything changes.
    pub(crate) fn write(mut self, table: &str) -> Option<Statement> {
        self.0.retain(|_, change| change.iter().any(|by| *by != 0));
        if self.0.is_empty() {
            return None;
        }
        let (keys, changes): (Vec<Key>, Vec<[i64; 8]>) = self.0.into_iter().unzip();
        let (sums, columns) = (added(table, &FIGURES), FIGURES.join(", "));
        let mut statement = Statement::whole(&format!(
            "INSERT INTO {table} (owner, day, hour, model, kind, shard, {columns}) \
             SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], \
             $4::text[], $5::text[], $6::smallint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], \
             $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[]) ON CONFLICT (owner, day, hour, model, kind, shard) DO UPDATE SET {sums}"
        ))
        .bind(keys.iter().map(|key| key.0.clone()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.1.clone()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.2).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.3.clone()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.4.clone()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.5).collect::<Vec<_>>());
        for at in 0..FIGURES.len() {
            statement = statement.bind(changes.iter().map(|change| change[at]).collect::<Vec<_>>());
        }
        Some(statement)
    }
}

/// The assignments that add the changes of an insertion to the sums of a row. A sum beyond the integers stays the
/// largest one, or the smallest: otherwise no later commit would succeed.
pub(crate) fn added(table: &str, columns: &[&str]) -> String {
    let of = |column: &&str| {
        let sum = format!("{table}.{column}::numeric + excluded.{column}");
        format!("{column} = greatest(least({sum}, 9223372036854775807), -9223372036854775807)::bigint")
    };
    columns.iter().map(of).collect::<Vec<_>>().join(", ")
}
