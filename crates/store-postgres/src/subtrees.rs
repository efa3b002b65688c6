//! Sums over the agents below an agent: how many are in which status, how many of their questions are open, what their
//! runs used, and what the agent itself used. Each commit that changes one of these changes the rows of all agents above,
//! so that a page of a large tree reads one row for each branch. An agent without a parent changes none; what it used
//! itself is added up from its runs.

use std::collections::BTreeMap;

use entourage_store::{Subtree, SubtreeSums};
use entourage_types::{Agent, AgentId, HourlyUsage, Scope, ShownStatus};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    fault::Result,
    rows::{get, id, json, word, word_if_any},
    statement::Statement,
    usage,
};

const COLUMNS: [&str; SUMS] = SubtreeSums::COLUMNS;
const SUMS: usize = SubtreeSums::COLUMNS.len();

/// Which rows a change goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// The row of the agent and those of all agents above it.
    FromAgent,
    /// Those of all agents above it alone.
    AboveAgent,
}

/// What a commit changes, by the agent at which the change begins.
#[derive(Debug, Default)]
pub(crate) struct Changes(BTreeMap<(AgentId, Reach), SubtreeSums>);

impl Changes {
    fn of(&mut self, agent: AgentId, reach: Reach) -> &mut SubtreeSums {
        self.0.entry((agent, reach)).or_default()
    }

    /// The change of an agent's row; of a new agent if it has no row before.
    pub(crate) fn agent(&mut self, before: Option<&Agent>, after: &Agent) {
        let (before, now) = (before.map(Agent::shown), after.shown());
        if let Some(parent) = after.parent.filter(|_| before != Some(now)) {
            let change = self.of(parent, Reach::FromAgent);
            before.iter().for_each(|before| change.count(*before, -1));
            change.count(now, 1);
        }
    }

    /// The change of what a run used.
    pub(crate) fn run(&mut self, agent: &Agent, before: &[HourlyUsage], after: &[HourlyUsage]) {
        if agent.parent.is_some() && before != after {
            let change = self.of(agent.id, Reach::FromAgent);
            change.take_usage(before);
            change.add_usage(after);
        }
    }

    /// A question of an agent opens, or closes.
    pub(crate) fn question(&mut self, agent: AgentId, by: i64) {
        self.of(agent, Reach::AboveAgent).ask(by);
    }

    /// An agent is removed, in this status as users see it, with so many open questions, whose own row had these sums.
    pub(crate) fn pruned(&mut self, parent: AgentId, shown: ShownStatus, asks: i64, kept: SubtreeSums) {
        let change = self.of(parent, Reach::FromAgent);
        change.count(shown, -1);
        change.ask(-asks);
        change.take(&kept.only_usage());
    }

    /// The statement that writes the changes, if there are any. The agents exist by then.
    pub(crate) fn write(mut self) -> Option<Statement> {
        self.0.retain(|_, change| !change.is_zero());
        if self.0.is_empty() {
            return None;
        }
        let columns = COLUMNS.join(", ");
        let arrays: Vec<String> = (3..3 + SUMS).map(|number| format!("${number}::bigint[]")).collect();
        let sums: Vec<String> = COLUMNS.iter().map(|column| format!("sum({column})::bigint")).collect();
        let statement = format!(
            "WITH RECURSIVE change AS (SELECT * FROM unnest($1::uuid[], $2::bool[], {}) AS change (agent, own, {columns})), \
             above AS (SELECT CASE WHEN own THEN agent ELSE (SELECT parent FROM agents WHERE id = agent) END AS at, \
             change.* FROM change UNION ALL SELECT agents.parent, above.agent, above.own, {} FROM above JOIN agents \
             ON agents.id = above.at) INSERT INTO subtrees (agent, {columns}) SELECT at, {} FROM above \
             WHERE at IS NOT NULL GROUP BY at ON CONFLICT (agent) DO UPDATE SET {}",
            arrays.join(", "),
            COLUMNS.map(|column| format!("above.{column}")).join(", "),
            sums.join(", "),
            usage::added("subtrees", &COLUMNS),
        );
        let mut statement = Statement::whole(&statement)
            .bind(self.0.keys().map(|(agent, _)| agent.uuid()).collect::<Vec<_>>())
            .bind(self.0.keys().map(|(_, reach)| *reach == Reach::FromAgent).collect::<Vec<_>>());
        for at in 0..SUMS {
            statement = statement.bind(self.0.values().map(|change| change.values()[at]).collect::<Vec<_>>());
        }
        Some(statement)
    }
}

/// The queries for the sums of these agents, which are to be read in one snapshot.
pub(crate) fn queries(scope: &Scope, ids: &[AgentId]) -> Vec<Statement> {
    let all: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let sums = COLUMNS.map(|column| format!("coalesce(subtrees.{column}, 0)")).join(", ");
    let agents = Statement::new(&format!(
        "SELECT agents.id, agents.status, agents.stop_reason, (SELECT count(*) FROM entities WHERE kind = 'question' \
         AND agent = agents.id AND status = 'open'), {sums} FROM agents LEFT JOIN subtrees ON subtrees.agent = agents.id \
         WHERE agents.id = ANY (?)"
    ))
    .bind(all.clone())
    .seen_by(scope, "agents.owner");
    let runs = "SELECT runs.agent, runs.spent FROM runs JOIN agents ON agents.id = runs.agent AND agents.parent IS NULL \
                WHERE runs.agent = ANY ($1) AND runs.spent <> '[]'";
    vec![agents, Statement::whole(runs).bind(all)]
}

/// Reads what these queries have found, in the order of `ids`.
pub(crate) fn read(found: &[Vec<Row>], ids: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>> {
    let mut sums: BTreeMap<AgentId, SubtreeSums> = BTreeMap::new();
    for row in found.first().into_iter().flatten() {
        let mut sum = kept(row, 4)?;
        sum.count(ShownStatus::of(word(row, 1)?, word_if_any(row, 2)?), 1);
        sum.ask(get(row, 3)?);
        sums.insert(id(row, 0, AgentId::from_uuid)?, sum);
    }
    for row in found.get(1).into_iter().flatten() {
        if let Some(sum) = sums.get_mut(&id(row, 0, AgentId::from_uuid)?) {
            sum.add_usage(&json::<Vec<HourlyUsage>>(row, 1)?);
        }
    }
    Ok(ids.iter().filter_map(|id| sums.get(id).map(|sum| (*id, (*sum).into()))).collect())
}

/// The sums of a row, whose columns begin at `first`.
pub(crate) fn kept(row: &Row, first: usize) -> Result<SubtreeSums> {
    let mut sums = [0; SUMS];
    for (at, sum) in sums.iter_mut().enumerate() {
        *sum = get::<Option<i64>>(row, first + at)?.unwrap_or_default();
    }
    Ok(SubtreeSums::of(sums))
}

/// The columns of a row, for queries that read it with others.
pub(crate) fn columns() -> String {
    COLUMNS.map(|column| format!("subtrees.{column}")).join(", ")
}
