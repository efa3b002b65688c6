//! Runs and their steps.

use entourage_store::{RunCount, RunQuery};
use entourage_types::{
    AgentId, Cost, HourlyUsage, Run, RunId, Scope, ShownStatus, Step, StepState, StopReason, Usage,
};
use tokio_postgres::Row;

use crate::{
    fault::Result,
    rows::{
        count, get, id, int, json, json_if_any, owner, small, time, time_if_any, unreadable, word,
        word_if_any,
    },
    statement::{Rows, Statement, values},
};

pub(crate) const COLUMNS: &str = "runs.id, runs.agent, runs.owner, runs.status, runs.waiting_on, runs.stop_reason, runs.error, \
                       runs.kind_version, runs.switches, runs.tasks, runs.model_calls, runs.worked_ms, runs.input, \
                       runs.output, runs.cached, runs.cache_written, runs.reasoning, runs.cost, runs.spent, \
                       runs.started, runs.ended";
const SIZE: &str = "octet_length(runs.spent)::bigint + octet_length(runs.tasks) + coalesce(octet_length(runs.error), 0) \
                    + 300";
pub(crate) const STEP: &str = "run, key, state, value, attempt, used, intent, started, updated";

pub(crate) fn read(row: &Row) -> Result<Run> {
    Ok(Run {
        id: id(row, 0, RunId::from_uuid)?,
        agent: id(row, 1, AgentId::from_uuid)?,
        owner: owner(row, 2)?,
        status: word(row, 3)?,
        waiting_on: word_if_any(row, 4)?,
        stop_reason: word_if_any(row, 5)?,
        error: get(row, 6)?,
        kind_version: get(row, 7)?,
        switches: json_if_any(row, 8)?.unwrap_or_default(),
        tasks: json(row, 9)?,
        model_calls: small(row, 10)?,
        worked_ms: count(row, 11)?,
        usage: Usage {
            input: count(row, 12)?,
            output: count(row, 13)?,
            cached: count(row, 14)?,
            cache_written: count(row, 15)?,
            reasoning: count(row, 16)?,
        },
        cost: Cost::from_nanos(count(row, 17)?),
        spent: json(row, 18)?,
        started: time(row, 19)?,
        ended: time_if_any(row, 20)?,
    })
}

/// The query for runs.
pub(crate) fn select(scope: &Scope, query: &RunQuery) -> Statement {
    let is_open = query.open || query.status.is_some_and(|status| !status.is_terminal());
    let is_restricted = scope.owner().is_some()
        || query.id.is_some()
        || query.agent.is_some()
        || query.root.is_some()
        || is_open;
    let select = of(&format!("{COLUMNS}, {SIZE} AS size"), scope, query);
    let page = match is_restricted {
        true => select.page("runs", None, scope, &query.page),
        false => select.page_of_all("runs", scope, &query.page),
    };
    page.within(query.page.bytes)
}

/// The query that counts runs.
pub(crate) fn counts(scope: &Scope, query: &RunQuery) -> Statement {
    let head = "(SELECT kind FROM agents WHERE id = runs.agent) AS of_kind, kind_version, count(*)";
    let counted = of(head, scope, query).end("GROUP BY of_kind, kind_version");
    counted.end("ORDER BY of_kind, kind_version")
}

/// Reads a count; none if the agents of these runs are not there.
pub(crate) fn read_count(row: &Row) -> Result<Option<RunCount>> {
    let Some(kind) = get::<Option<String>>(row, 0)? else { return Ok(None) };
    Ok(Some(RunCount { kind, version: get(row, 1)?, runs: small(row, 2)? }))
}

/// Starts a statement that reads `head` of the runs that match a query.
fn of(head: &str, scope: &Scope, query: &RunQuery) -> Statement {
    let of_tree = match query.of_large_tree {
        false => "runs.agent IN (SELECT id FROM agents WHERE root = ?)",
        true => "(SELECT root FROM agents WHERE id = runs.agent) = ?",
    };
    let ended = query.status.filter(|status| status.is_terminal());
    let other = query.status.filter(|status| !status.is_terminal());
    let select = Statement::new(&format!("SELECT {head} FROM runs WHERE true"))
        .seen_by(scope, "runs.owner")
        .only_if("runs.id = ?", query.id.map(RunId::uuid))
        .only_if("runs.agent = ?", query.agent.map(AgentId::uuid))
        .only_if(of_tree, query.root.map(AgentId::uuid))
        .only("(SELECT kind FROM agents WHERE id = runs.agent) = ?", query.kind.as_deref())
        .only("runs.kind_version = ?", query.version.as_deref())
        .only("runs.stop_reason = ?", query.stop_reason)
        .only("runs.status = ?", other);
    let select = match ended {
        // Word for word as in the index.
        Some(ShownStatus::Failed) => select.and("runs.ended_as = 'failed'"),
        ended => select.only("runs.ended_as = ?", ended),
    };
    let is_unusual = ended == Some(ShownStatus::Stopped)
        || query.stop_reason.is_some_and(|reason| reason != StopReason::Completed);
    let select = if is_unusual { select.and("runs.stop_reason <> 'completed'") } else { select };
    if query.open || other.is_some() { select.and("runs.ended_as IS NULL") } else { select }
}

/// The query for an agent's last run, if that is open: an agent has one run at a time.
pub(crate) fn open(agent: AgentId) -> Statement {
    Statement::whole(&format!(
        "SELECT {COLUMNS} FROM (SELECT * FROM runs WHERE agent = $1 ORDER BY n DESC LIMIT 1) AS runs \
         WHERE ended_as IS NULL"
    ))
    .bind(agent.uuid())
}

/// The query for the steps of that run.
pub(crate) fn open_steps(agent: AgentId) -> Statement {
    Statement::whole(&format!(
        "SELECT {STEP} FROM steps WHERE run = (SELECT id FROM runs WHERE agent = $1 ORDER BY n DESC LIMIT 1) ORDER BY n"
    ))
    .bind(agent.uuid())
}

/// How a run ended, as users see it; none if it has not.
pub(crate) fn ended_as(run: &Run) -> Option<&'static str> {
    Some(ShownStatus::of(run.status, run.stop_reason))
        .filter(|shown| shown.is_terminal())
        .map(ShownStatus::as_str)
}

/// The part of a stored run that decides what its change does to sums.
#[derive(Debug, Clone)]
pub(crate) struct StoredRun {
    /// Its agent.
    pub(crate) agent: AgentId,
    /// Whether it has ended.
    pub(crate) has_ended: bool,
    /// What it used so far.
    pub(crate) spent: Vec<HourlyUsage>,
}

/// The query for these parts of runs.
pub(crate) fn before(runs: Vec<uuid::Uuid>) -> Statement {
    Statement::whole("SELECT id, agent, ended_as IS NOT NULL, spent FROM runs WHERE id = ANY ($1)").bind(runs)
}

/// Reads such a part.
pub(crate) fn read_before(row: &Row) -> Result<(RunId, StoredRun)> {
    let agent = id(row, 1, AgentId::from_uuid)?;
    Ok((id(row, 0, RunId::from_uuid)?, StoredRun { agent, has_ended: get(row, 2)?, spent: json(row, 3)? }))
}

/// Writes a run, new or stored. It stays with its agent, and with the switches with which it began.
pub(crate) fn write(run: &Run, new: bool) -> Result<Statement> {
    let statement = match new {
        true => Statement::whole(
            "INSERT INTO runs (id, status, waiting_on, stop_reason, error, kind_version, tasks, model_calls, worked_ms, \
             input, output, cached, cache_written, reasoning, cost, spent, started, ended, ended_as, agent, owner, \
             switches) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, \
             $20, $21, $22)",
        ),
        false => Statement::whole(
            "UPDATE runs SET status = $2, waiting_on = $3, stop_reason = $4, error = $5, kind_version = $6, tasks = $7, \
             model_calls = $8, worked_ms = $9, input = $10, output = $11, cached = $12, cache_written = $13, \
             reasoning = $14, cost = $15, spent = $16, started = $17, ended = $18, ended_as = $19 WHERE id = $1",
        ),
    };
    let statement = statement
        .bind(run.id.uuid())
        .bind(run.status.as_str())
        .bind(run.waiting_on.map(|what| what.as_str()))
        .bind(run.stop_reason.map(|reason| reason.as_str()))
        .bind(run.error.clone())
        .bind(run.kind_version.clone())
        .bind(serde_json::to_string(&run.tasks)?)
        .bind(i64::from(run.model_calls))
        .bind(int(run.worked_ms))
        .bind(int(run.usage.input))
        .bind(int(run.usage.output))
        .bind(int(run.usage.cached))
        .bind(int(run.usage.cache_written))
        .bind(int(run.usage.reasoning))
        .bind(int(run.cost.nanos()))
        .bind(serde_json::to_string(&run.spent)?)
        .bind(run.started.micros())
        .bind(run.ended.map(|time| time.micros()))
        .bind(ended_as(run));
    if !new {
        return Ok(statement);
    }
    let switches = Some(&run.switches).filter(|switches| !switches.is_empty());
    let switches = switches.map(serde_json::to_string).transpose()?;
    Ok(statement.bind(run.agent.uuid()).bind(run.owner.to_string()).bind(switches))
}

/// The query for the steps of a run in the order in which they began, or for one of them, if the scope includes the run.
pub(crate) fn steps(scope: &Scope, run: RunId, key: Option<String>) -> Statement {
    let select = Statement::new(&format!("SELECT {STEP} FROM steps WHERE run = ?")).bind(run.uuid());
    select.of(scope, "runs", run.uuid()).only("key = ?", key).end("ORDER BY n")
}

pub(crate) fn read_step(row: &Row) -> Result<Step> {
    let key: &str = get(row, 1)?;
    Ok(Step {
        run: id(row, 0, RunId::from_uuid)?,
        key: key.into(),
        state: StepState::read(word(row, 2)?, get(row, 3)?).map_err(|error| unreadable(3, error))?,
        attempt: small(row, 4)?,
        used: json_if_any(row, 5)?,
        intent: json_if_any(row, 6)?,
        asked: None,
        started: time(row, 7)?,
        updated: time(row, 8)?,
    })
}

/// Writes steps, new or changed.
pub(crate) fn upsert_steps(steps: &[&Step]) -> Result<Vec<Statement>> {
    let mut rows = Rows::new(
        "INSERT INTO steps (run, key, state, value, attempt, used, intent, started, updated) VALUES",
        &["?"; 9],
        " ON CONFLICT (run, key) DO UPDATE SET state = excluded.state, value = excluded.value, \
         attempt = excluded.attempt, used = excluded.used, intent = excluded.intent, started = excluded.started, \
         updated = excluded.updated",
    );
    for step in steps {
        rows.push(values![
            step.run.uuid(),
            step.key.to_string(),
            step.status().as_str(),
            step.state.value()?,
            i64::from(step.attempt),
            step.used.as_ref().map(serde_json::to_string).transpose()?,
            step.intent.as_ref().map(serde_json::to_string).transpose()?,
            step.started.micros(),
            step.updated.micros(),
        ]);
    }
    Ok(rows.statements())
}
