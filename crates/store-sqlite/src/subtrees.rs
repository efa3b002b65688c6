//! Sums over the agents below an agent: how many are in which status, how many of their questions are open, what
//! their runs used, and what the agent itself used. Each commit that changes one of these changes the rows of all agents above, so that a
//! page of a large tree reads one row for each branch. An agent without a parent changes none; what it used itself is
//! added up from its runs.

use std::sync::LazyLock;

use entourage_store::Subtree;
use entourage_types::{
    Agent, AgentId, Cost, Entity, EntityKind, HourlyUsage, Parent, QuestionStatus, Scope, ShownStatus, Tally,
    Usage,
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    agents, entities,
    fault::Result,
    readers::snapshot,
    rows::{count, int, json},
    sums::KeptSums,
    writer_cache::WriterCache,
};

const STATUSES: usize = ShownStatus::ALL.len();
const QUESTIONS: usize = STATUSES;
const SUMS: usize = STATUSES + 9;
/// The first of the sums of usage.
const USED: usize = QUESTIONS + 1;

const COLUMNS: [&str; SUMS] = [
    "idle",
    "queued",
    "running",
    "waiting",
    "succeeded",
    "failed",
    "stopped",
    "cancelled",
    "questions",
    "calls",
    "unpriced",
    "input",
    "output",
    "cached",
    "cache_written",
    "reasoning",
    "cost",
];

/// What a commit changes in the sums of an agent, in the order of the columns.
type Change = [i64; SUMS];

/// What a commit changes in the rows of agents and of all above them.
#[derive(Default)]
pub(crate) struct Changes(Vec<(AgentId, Change)>);

impl Changes {
    /// The change of an agent's row; of a new agent if it has no row before.
    pub(crate) fn agent(&mut self, before: Option<&Agent>, after: &Agent) {
        let (before, now) = (before.map(Agent::shown), after.shown());
        if let Some(parent) = after.parent.filter(|_| before != Some(now)) {
            let change = self.of(parent);
            before.iter().for_each(|before| change[before.index()] -= 1);
            change[now.index()] += 1;
        }
    }

    /// The change of what a run used.
    pub(crate) fn run(&mut self, agent: &Agent, before: &[HourlyUsage], after: &[HourlyUsage]) {
        if agent.parent.is_some() && before != after {
            let change = self.of(agent.id);
            add(change, before, -1);
            add(change, after, 1);
        }
    }

    /// The change of a record, which has not been written yet: a question opens or closes.
    pub(crate) fn record(
        &mut self,
        connection: &Connection,
        cache: &mut WriterCache,
        entity: &Entity,
    ) -> Result<()> {
        let asks = entity.parent.as_ref().filter(|_| entity.kind == EntityKind::QUESTION);
        let Some(asks) = asks.and_then(Parent::agent) else { return Ok(()) };
        let Some(parent) = cache.agent(connection, asks)?.and_then(|agent| agent.parent) else {
            return Ok(());
        };
        let open = QuestionStatus::Open.as_str();
        let before = entities::state(connection, entity.kind, &entity.id)?;
        let was_open = before.is_some_and(|before| before.status == open);
        self.of(parent)[QUESTIONS] += i64::from(entity.status == open) - i64::from(was_open);
        Ok(())
    }

    /// The removal of an agent, which is still there, and of all that it used. What the commit has changed below it until
    /// now is a change below its parent: its own row goes with it.
    pub(crate) fn pruned(
        &mut self,
        connection: &Connection,
        cache: &mut WriterCache,
        agent: AgentId,
    ) -> Result<()> {
        let Some(agent) = cache.agent(connection, agent)? else { return Ok(()) };
        let Some(parent) = agent.parent else { return Ok(()) };
        let (own, kept) = (own(connection, &agent)?, kept(connection, agent.id)?);
        let below = self.0.iter().position(|(of, _)| *of == agent.id);
        let below = below.map_or([0; SUMS], |at| self.0.swap_remove(at).1);
        let change = self.of(parent);
        for at in 0..USED {
            change[at] += below[at] - own[at];
        }
        for at in USED..SUMS {
            change[at] = change[at].saturating_sub(kept[at]);
        }
        Ok(())
    }

    /// The change of the sums of this agent, and of all above it.
    fn of(&mut self, agent: AgentId) -> &mut Change {
        let at = self.0.iter().position(|(of, _)| *of == agent).unwrap_or_else(|| {
            self.0.push((agent, [0; SUMS]));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Writes the changes into the rows of these agents and of all above them.
    pub(crate) fn write(self, connection: &Connection, cache: &mut WriterCache) -> Result<()> {
        let mut rows: Vec<(AgentId, Change)> = Vec::new();
        for (agent, change) in self.0.into_iter().filter(|(_, change)| *change != [0; SUMS]) {
            let mut next = Some(agent);
            // Only an edited database has a circle of parents.
            for _ in 0..=u16::MAX {
                let Some(agent) = next.take() else { break };
                let Some(found) = cache.agent(connection, agent)? else { break };
                match rows.iter_mut().find(|(of, _)| *of == agent) {
                    Some((_, sum)) => {
                        sum.iter_mut()
                            .zip(change)
                            .for_each(|(sum, change)| *sum = sum.saturating_add(change));
                    }
                    None => rows.push((agent, change)),
                }
                next = found.parent;
            }
        }
        for (agent, change) in rows {
            let row = cache.key_range(connection, agent)?.row();
            KeptSums { table: "subtrees", row: &[("n", &row)], columns: &COLUMNS }
                .add(connection, &change)?;
        }
        Ok(())
    }
}

/// Adds what a run used, or takes it away.
fn add(change: &mut Change, spent: &[HourlyUsage], sign: i64) {
    let Tally { calls, unpriced, usage, cost } = spent.iter().map(|spent| spent.tally).sum();
    let Usage { input, output, cached, cache_written, reasoning } = usage;
    let figures = [calls, unpriced, input, output, cached, cache_written, reasoning, cost.nanos()].map(int);
    let sums = change[USED..].iter_mut();
    sums.zip(figures).for_each(|(sum, figure)| *sum = sum.saturating_add(sign * figure));
}

/// Returns the sums over each agent and all below it.
pub(crate) fn list(
    connection: &Connection,
    scope: &Scope,
    ids: &[AgentId],
) -> Result<Vec<(AgentId, Subtree)>> {
    snapshot(connection, || {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(agent) = agents::get(connection, *id)?.filter(|agent| scope.sees(&agent.owner)) else {
                continue;
            };
            let mut sums = own(connection, &agent)?;
            if agent.parent.is_none() {
                add_runs(connection, agent.id, &mut sums)?;
            }
            let kept = kept(connection, *id)?;
            sums.iter_mut().zip(kept).for_each(|(sum, kept)| *sum = sum.saturating_add(kept));
            found.push((*id, subtree(sums)));
        }
        Ok(found)
    })
}

/// The sums over one agent alone, without what it used.
fn own(connection: &Connection, agent: &Agent) -> Result<Change> {
    let mut sums = [0; SUMS];
    sums[agent.shown().index()] = 1;
    let mut asked = connection.prepare_cached(
        "SELECT count(*) FROM entities WHERE kind = 'question' AND parent = ?1 AND status = 'open'",
    )?;
    sums[QUESTIONS] = asked.query_row([agent.id.to_string()], |row| row.get(0))?;
    Ok(sums)
}

/// Adds what the runs of an agent used.
fn add_runs(connection: &Connection, agent: AgentId, sums: &mut Change) -> Result<()> {
    let mut used = connection.prepare_cached("SELECT spent FROM runs WHERE agent = ?1")?;
    let mut runs = used.query([agent.to_string()])?;
    while let Some(run) = runs.next()? {
        add(sums, &json::<Vec<HourlyUsage>>(run, 0)?, 1);
    }
    Ok(())
}

/// The row of an agent: sums over all agents below it, and what it used itself, unless it has no parent.
fn kept(connection: &Connection, agent: AgentId) -> Result<Change> {
    static SELECT: LazyLock<String> = LazyLock::new(|| {
        format!("SELECT {} FROM subtrees WHERE n = (SELECT n FROM agents WHERE id = ?1)", COLUMNS.join(", "))
    });
    let read = |row: &Row<'_>| {
        let mut sums = [0; SUMS];
        for (column, sum) in sums.iter_mut().enumerate() {
            *sum = int(count(row, column)?);
        }
        Ok(sums)
    };
    let found = connection.prepare_cached(&SELECT)?.query_row([agent.to_string()], read).optional()?;
    Ok(found.unwrap_or([0; SUMS]))
}

fn subtree(sums: Change) -> Subtree {
    let [.., open_questions, calls, unpriced, input, output, cached, cache_written, reasoning, cost] =
        sums.map(|sum| u64::try_from(sum).unwrap_or_default());
    let agents = std::array::from_fn(|at| u64::try_from(sums[at]).unwrap_or_default());
    let usage = Usage { input, output, cached, cache_written, reasoning };
    Subtree { agents, open_questions, used: Tally { calls, unpriced, usage, cost: Cost::from_nanos(cost) } }
}
