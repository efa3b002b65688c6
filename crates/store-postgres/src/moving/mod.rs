//! Takes all rows of another store, in one transaction, into a database that has none. Rows are written by the statements
//! that commits write them with, so that whatever a row's columns derive is derived as ever; sums over rows grow page by
//! page, by the changes that a commit with these rows would make.

mod read_back;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use async_trait::async_trait;
use entourage_store::{
    Error, Result,
    moving::{Inventory, KeptUsage, RowTarget, StoredRows},
};
use entourage_types::{Agent, AgentId, Entity, Parent, Post, Run, Wakeup, WakeupId};
use uuid::Uuid;

use crate::{
    agents, budgets, entities, events, fault, inbox, items,
    rows::{get, int},
    runs,
    statement::{Statement, pipeline},
    subtrees::Changes,
    transaction::Transaction,
    usage::Additions,
};

/// The tables that have rows, but for the receipts of commits.
const TABLES: [&str; 14] = [
    "trees",
    "agents",
    "items",
    "runs",
    "steps",
    "inbox",
    "wakeups",
    "events",
    "entities",
    "budgets",
    "reservations",
    "usage_of_owners",
    "usage_of_removed",
    "subtrees",
];

/// What holds in the transaction: it may take hours and wait for its client, it waits for no other program for long, it is
/// durable once it has ended, and plans that were made while tables were empty do not scan them once they are full.
const SETTINGS: &str = "SELECT set_config('idle_in_transaction_session_timeout', '0', true), \
                        set_config('statement_timeout', '0', true), set_config('lock_timeout', '5s', true), \
                        set_config('synchronous_commit', 'on', true), \
                        set_config('plan_cache_mode', 'force_generic_plan', true), \
                        set_config('enable_seqscan', 'off', true)";

/// An empty database in a transaction. Dropped before its end, the transaction is undone.
pub struct PostgresTarget {
    transaction: Transaction,
    place: String,
}

impl PostgresTarget {
    /// Begins on this connection, and keeps others from writing until the end. Refuses a database that has rows.
    pub(crate) async fn begin(transaction: Transaction, place: String) -> Result<Self> {
        let client = transaction.client()?;
        let tables = TABLES.join(", ");
        let lock = format!("LOCK TABLE {tables} IN EXCLUSIVE MODE");
        let rows = TABLES.map(|table| format!("EXISTS (SELECT 1 FROM {table})")).join(" OR ");
        let statements = ["BEGIN".to_owned(), SETTINGS.to_owned(), lock, format!("SELECT {rows}")]
            .map(|sql| Statement::whole(&sql));
        let found = pipeline(client, &statements).await?;
        let has_rows = found.last().and_then(|rows| rows.first()).map(|row| get(row, 0)).transpose()?;
        if has_rows != Some(false) {
            let why = "it has rows already, and rows are moved into an empty database only. Create one, with `createdb`, \
                       and name that; nothing was changed"
                .to_owned();
            return Err(Error::Unusable { path: place, why });
        }
        Ok(Self { transaction, place })
    }

    async fn send(&self, statements: Vec<Statement>) -> fault::Result<()> {
        pipeline(self.transaction.client()?, &statements).await.map(drop)
    }

    /// The agents of these runs that are there.
    async fn agents_of(&self, runs: &[Run]) -> fault::Result<BTreeMap<AgentId, Agent>> {
        let ids: BTreeSet<Uuid> = runs.iter().map(|run| run.agent.uuid()).collect();
        let query = format!("SELECT {} FROM agents WHERE id = ANY ($1)", agents::COLUMNS);
        let query = Statement::whole(&query).bind(ids.into_iter().collect::<Vec<_>>());
        let found = query.run(self.transaction.client()?).await?;
        found.iter().map(|row| agents::read(row).map(|agent| (agent.id, agent))).collect()
    }

    async fn statements(&self, page: &StoredRows) -> fault::Result<Vec<Statement>> {
        Ok(match page {
            StoredRows::Agents(rows) => new_agents(rows),
            StoredRows::Items(rows) => items::insert(&rows.iter().collect::<Vec<_>>())?,
            StoredRows::Runs(rows) => new_runs(rows, &self.agents_of(rows).await?)?,
            StoredRows::Steps(rows) => runs::upsert_steps(&rows.iter().collect::<Vec<_>>())?,
            StoredRows::Posts(rows) => posts(rows)?,
            StoredRows::Wakeups(rows) => each_once(rows).iter().flat_map(|some| inbox::wake(some)).collect(),
            StoredRows::Events(rows) => events::insert(rows)?,
            StoredRows::Records(rows) => records(rows),
            StoredRows::Budgets(rows) => vec![budgets::put(&rows.iter().collect::<Vec<_>>())],
            StoredRows::Reservations(rows) => {
                let held: Vec<_> = rows.iter().map(|held| (&held.budget, held.agent, held.amount)).collect();
                vec![budgets::hold(&held)]
            }
            StoredRows::UsageOfEnded(rows) => sums("usage_of_owners", rows),
            StoredRows::UsageOfRemoved(rows) => sums("usage_of_removed", rows),
        })
    }
}

#[async_trait]
impl RowTarget for PostgresTarget {
    async fn write(&mut self, page: StoredRows) -> Result<()> {
        let statements = self.statements(&page).await?;
        Ok(self.send(statements).await?)
    }

    async fn read_back(&mut self, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Inventory> {
        Ok(read_back::inventory(self.transaction.client()?, progress).await?)
    }

    async fn finish(self) -> Result<()> {
        // The first queries would otherwise be planned as if the tables were empty.
        let analyze = format!("ANALYZE {}", TABLES.join(", "));
        self.send(vec![Statement::whole(&analyze)]).await?;
        match self.send(vec![Statement::whole("COMMIT")]).await {
            Ok(()) => {
                self.transaction.ended();
                Ok(())
            }
            Err(fault) if fault.is_lost() => Err(Error::MoveUnknown { place: self.place }),
            Err(fault) => Err(fault.into()),
        }
    }
}

fn new_agents(agents: &[Agent]) -> Vec<Statement> {
    let mut above = Changes::default();
    agents.iter().for_each(|agent| above.agent(None, agent));
    let mut statements = agents::insert(&agents.iter().collect::<Vec<_>>());
    statements.extend(above.write());
    statements
}

fn new_runs(rows: &[Run], agents: &BTreeMap<AgentId, Agent>) -> fault::Result<Vec<Statement>> {
    let mut above = Changes::default();
    for run in rows {
        if let Some(agent) = agents.get(&run.agent) {
            above.run(agent, &[], &run.spent);
        }
    }
    let mut statements: Vec<Statement> =
        rows.iter().map(|run| runs::write(run, true)).collect::<fault::Result<_>>()?;
    statements.extend(above.write());
    Ok(statements)
}

fn posts(posts: &[Post]) -> fault::Result<Vec<Statement>> {
    let mut statements = inbox::put(&posts.iter().collect::<Vec<_>>())?;
    let readers: BTreeSet<Uuid> = posts.iter().map(|post| post.agent.uuid()).collect();
    statements.push(agents::revive(readers.into_iter().collect()));
    Ok(statements)
}

fn records(records: &[Entity]) -> Vec<Statement> {
    let mut above = Changes::default();
    for record in records {
        let agent = record.parent.as_ref().and_then(Parent::agent);
        if let Some(agent) = entities::asks(record.kind, &record.status, agent) {
            above.question(agent, 1);
        }
    }
    let written: Vec<entities::Written<'_>> =
        records.iter().map(|record| (record, int(record.version))).collect();
    let mut statements = entities::upsert(&written);
    statements.extend(above.write());
    statements
}

/// Sums of usage, which say no tree: they are all in one shard.
fn sums(table: &str, rows: &[KeptUsage]) -> Vec<Statement> {
    let mut added = Additions::default();
    for KeptUsage { owner, kind, spent } in rows {
        added.add((owner, AgentId::from_uuid(Uuid::nil()), kind), std::slice::from_ref(spent), 1);
    }
    added.write(table).into_iter().collect()
}

/// The wake-ups in groups without two of one id, which one statement cannot write: an edited file may have them, and the
/// comparison afterwards names what is lost.
fn each_once(wakeups: &[Wakeup]) -> Vec<Vec<&Wakeup>> {
    let mut groups: Vec<(HashSet<WakeupId>, Vec<&Wakeup>)> = Vec::new();
    for wakeup in wakeups {
        match groups.iter_mut().find(|(ids, _)| !ids.contains(&wakeup.id)) {
            Some((ids, group)) => {
                ids.insert(wakeup.id);
                group.push(wakeup);
            }
            None => groups.push((HashSet::from([wakeup.id]), vec![wakeup])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
