//! Sums over the agents below an agent: how many are in which status, how many of their questions are open, what
//! their runs used, and what the agent itself used. Each commit that changes one of these changes the rows of all agents above, so that a
//! page of a large tree reads one row for each branch. An agent without a parent changes none; what it used itself is
//! added up from its runs.

use std::sync::LazyLock;

use entourage_store::{Subtree, SubtreeSums};
use entourage_types::{Agent, AgentId, Entity, EntityKind, HourlyUsage, Parent, QuestionStatus, Scope};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    agents, entities,
    fault::Result,
    readers::snapshot,
    rows::{count, int, json},
    sums::KeptSums,
    writer_cache::WriterCache,
};

const COLUMNS: [&str; SUMS] = SubtreeSums::COLUMNS;
const SUMS: usize = SubtreeSums::COLUMNS.len();

/// What a commit changes in the rows of agents and of all above them.
#[derive(Default)]
pub(crate) struct Changes(Vec<(AgentId, SubtreeSums)>);

impl Changes {
    /// The change of an agent's row; of a new agent if it has no row before.
    pub(crate) fn agent(&mut self, before: Option<&Agent>, after: &Agent) {
        let (before, now) = (before.map(Agent::shown), after.shown());
        if let Some(parent) = after.parent.filter(|_| before != Some(now)) {
            let change = self.of(parent);
            before.iter().for_each(|before| change.count(*before, -1));
            change.count(now, 1);
        }
    }

    /// The change of what a run used.
    pub(crate) fn run(&mut self, agent: &Agent, before: &[HourlyUsage], after: &[HourlyUsage]) {
        if agent.parent.is_some() && before != after {
            let change = self.of(agent.id);
            change.take_usage(before);
            change.add_usage(after);
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
        self.of(parent).ask(i64::from(entity.status == open) - i64::from(was_open));
        Ok(())
    }

    /// The removal of a record, which is still there: a question is open no more.
    pub(crate) fn removed_record(
        &mut self,
        connection: &Connection,
        cache: &mut WriterCache,
        (kind, id): (EntityKind, &str),
    ) -> Result<()> {
        if kind != EntityKind::QUESTION {
            return Ok(());
        }
        let Some(question) = entities::get(connection, &Scope::All, kind, id)? else { return Ok(()) };
        self.record(connection, cache, &Entity { status: QuestionStatus::Expired.to_string(), ..question })
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
        let below = below.map(|at| self.0.swap_remove(at).1).unwrap_or_default();
        let change = self.of(parent);
        change.add(&below.without_usage());
        change.take(&own);
        change.take(&kept.only_usage());
        Ok(())
    }

    /// The change of the sums of this agent, and of all above it.
    fn of(&mut self, agent: AgentId) -> &mut SubtreeSums {
        let at = self.0.iter().position(|(of, _)| *of == agent).unwrap_or_else(|| {
            self.0.push((agent, SubtreeSums::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Writes the changes into the rows of these agents and of all above them.
    pub(crate) fn write(self, connection: &Connection, cache: &mut WriterCache) -> Result<()> {
        let mut rows: Vec<(AgentId, SubtreeSums)> = Vec::new();
        for (agent, change) in self.0.into_iter().filter(|(_, change)| !change.is_zero()) {
            let mut next = Some(agent);
            // Only an edited database has a circle of parents.
            for _ in 0..=u16::MAX {
                let Some(agent) = next.take() else { break };
                let Some(found) = cache.agent(connection, agent)? else { break };
                match rows.iter_mut().find(|(of, _)| *of == agent) {
                    Some((_, sum)) => sum.add(&change),
                    None => rows.push((agent, change)),
                }
                next = found.parent;
            }
        }
        for (agent, change) in rows {
            let row = cache.key_range(connection, agent)?.row();
            KeptSums { table: "subtrees", row: &[("n", &row)], columns: &COLUMNS }
                .add(connection, change.values())?;
        }
        Ok(())
    }
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
            sums.add(&kept(connection, *id)?);
            found.push((*id, sums.into()));
        }
        Ok(found)
    })
}

/// The sums over one agent alone, without what it used.
fn own(connection: &Connection, agent: &Agent) -> Result<SubtreeSums> {
    let mut sums = SubtreeSums::default();
    sums.count(agent.shown(), 1);
    // The plus keeps SQLite from going through the open questions of all agents instead.
    let mut asked = connection.prepare_cached(
        "SELECT count(*) FROM entities WHERE kind = 'question' AND parent = ?1 AND +status = 'open'",
    )?;
    sums.ask(asked.query_row([agent.id.to_string()], |row| row.get(0))?);
    Ok(sums)
}

/// Adds what the runs of an agent used.
fn add_runs(connection: &Connection, agent: AgentId, sums: &mut SubtreeSums) -> Result<()> {
    let mut used = connection.prepare_cached("SELECT spent FROM runs WHERE agent = ?1")?;
    let mut runs = used.query([agent.to_string()])?;
    while let Some(run) = runs.next()? {
        sums.add_usage(&json::<Vec<HourlyUsage>>(run, 0)?);
    }
    Ok(())
}

/// The row of an agent: sums over all agents below it, and what it used itself, unless it has no parent.
fn kept(connection: &Connection, agent: AgentId) -> Result<SubtreeSums> {
    static SELECT: LazyLock<String> = LazyLock::new(|| {
        format!("SELECT {} FROM subtrees WHERE n = (SELECT n FROM agents WHERE id = ?1)", COLUMNS.join(", "))
    });
    let read = |row: &Row<'_>| {
        let mut sums = [0; SUMS];
        for (column, sum) in sums.iter_mut().enumerate() {
            *sum = int(count(row, column)?);
        }
        Ok(SubtreeSums::of(sums))
    };
    let found = connection.prepare_cached(&SELECT)?.query_row([agent.to_string()], read).optional()?;
    Ok(found.unwrap_or_default())
}
