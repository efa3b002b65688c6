//! Runs and their steps.

use entourage_store::{RunCount, RunQuery};
use entourage_types::{
    AgentId, Cost, HourlyUsage, Owner, Run, RunId, Scope, ShownStatus, Status, Step, StepState, StopReason,
    Usage,
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use crate::{
    fault::Result,
    rows::{count, int, json, json_if_any, time, time_if_any, unreadable, word, word_if_any},
    select::{Partial, Select},
};

pub(crate) const COLUMNS: &str = "id, agent, owner, status, waiting_on, stop_reason, error, kind_version, tasks, \
                       model_calls, input_tokens, output_tokens, cached_tokens, cache_written_tokens, \
                       reasoning_tokens, cost_nanos, started, ended, worked_ms, spent, switches";

pub(crate) const STEP: &str = "run, key, state, value, attempt, used, started, updated, intent";

pub(crate) const OPEN: &str = "runs.open = 1";

const UNENDED: Partial = Partial { index: "open_runs", holds: OPEN };
const FAILED: Partial =
    Partial { index: "failed_runs", holds: "status = 'failed' AND stop_reason IS NOT 'cancelled'" };
/// Runs that stopped for another reason than that they were done.
const UNUSUAL: Partial = Partial { index: "unusual_runs", holds: "stop_reason <> 'completed'" };

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        id: word(row, 0)?,
        agent: word(row, 1)?,
        owner: Owner::new(row.get::<_, String>(2)?),
        status: word(row, 3)?,
        waiting_on: word_if_any(row, 4)?,
        stop_reason: word_if_any(row, 5)?,
        error: row.get(6)?,
        kind_version: row.get(7)?,
        switches: json_if_any(row, 20)?.unwrap_or_default(),
        tasks: json(row, 8)?,
        model_calls: row.get(9)?,
        usage: Usage {
            input: count(row, 10)?,
            output: count(row, 11)?,
            cached: count(row, 12)?,
            cache_written: count(row, 13)?,
            reasoning: count(row, 14)?,
        },
        cost: Cost::from_nanos(count(row, 15)?),
        started: time(row, 16)?,
        ended: time_if_any(row, 17)?,
        worked_ms: count(row, 18)?,
        spent: json(row, 19)?,
    })
}

/// Returns runs by query.
pub(crate) fn list(connection: &Connection, scope: &Scope, query: &RunQuery) -> Result<Vec<Run>> {
    select(scope, query).rows_within(query.page.bytes, connection, read)
}

/// The query behind [`list`].
pub(crate) fn select(scope: &Scope, query: &RunQuery) -> Select {
    of(COLUMNS, scope, query).page("runs", None, scope, &query.page)
}

/// Counts runs by query.
pub(crate) fn counts(connection: &Connection, scope: &Scope, query: &RunQuery) -> Result<Vec<RunCount>> {
    count_select(scope, query)
        .rows(connection, |row| Ok(RunCount { kind: row.get(0)?, version: row.get(1)?, runs: row.get(2)? }))
}

/// The query behind [`counts`].
pub(crate) fn count_select(scope: &Scope, query: &RunQuery) -> Select {
    let head = "(SELECT kind FROM agents WHERE id = runs.agent) AS of_kind, kind_version, count(*)";
    of(head, scope, query)
        .end("GROUP BY of_kind, kind_version HAVING of_kind IS NOT NULL ORDER BY of_kind, kind_version")
}

/// Starts a statement that reads `head` of the runs that match a query.
fn of(head: &str, scope: &Scope, query: &RunQuery) -> Select {
    // A tree's runs are found by its agents; the plus keeps SQLite from using the owner's index instead.
    let by_agents = query.root.is_some() && !query.of_large_tree;
    let owner = if by_agents { "+owner" } else { "owner" };
    let of_tree = match by_agents {
        true => "agent IN (SELECT id FROM agents WHERE root = ?)",
        false => "(SELECT root FROM agents WHERE id = runs.agent) = ?",
    };
    let is_wide = query.id.is_none() && query.agent.is_none() && !by_agents;
    let by = partial(scope, query).filter(|_| is_wide);
    let select = Select::of_some(head, "runs", by)
        .seen_by(scope, owner)
        .only("id = ?", query.id)
        .only("agent = ?", query.agent)
        .only(of_tree, query.root)
        .only("(SELECT kind FROM agents WHERE id = runs.agent) = ?", query.kind.as_deref())
        .only("kind_version = ?", query.version.as_deref())
        .only("stop_reason = ?", query.stop_reason)
        .only("status = ?", query.status.map(ShownStatus::status));
    let select = match query.status {
        Some(ShownStatus::Failed) => select.and("stop_reason IS NOT 'cancelled'"),
        Some(ShownStatus::Stopped) => select.and("stop_reason = 'cancelled'"),
        _ => select,
    };
    if query.open && by.is_none() { select.and(OPEN) } else { select }
}

/// Returns the partial index that serves a query of all trees best, if one does.
fn partial(scope: &Scope, query: &RunQuery) -> Option<Partial> {
    let of_owner = |partial| scope.owner().map(|_| partial);
    match query.status {
        _ if query.open => Some(UNENDED),
        Some(status) if !status.is_terminal() => Some(UNENDED),
        _ if query.stop_reason.is_some_and(|reason| reason != StopReason::Completed) => of_owner(UNUSUAL),
        Some(ShownStatus::Failed) => of_owner(FAILED),
        Some(ShownStatus::Stopped) => of_owner(UNUSUAL),
        _ => None,
    }
}

/// Returns the agent's run that has not ended.
pub(crate) fn open(connection: &Connection, agent: AgentId) -> Result<Option<Run>> {
    // An agent has one run at a time, so only its last one may be open.
    let mut statement = connection.prepare_cached(
        "SELECT id, agent, owner, status, waiting_on, stop_reason, error, kind_version, tasks, model_calls, \
         input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, \
         started, ended, worked_ms, spent, switches FROM runs WHERE agent = ?1 ORDER BY n DESC LIMIT 1",
    )?;
    let last = statement.query_row([agent.to_string()], read).optional()?;
    Ok(last.filter(|run| !run.status.is_terminal()))
}

/// The part of a stored run that decides how its change is written.
pub(crate) struct StoredRun {
    /// Its status so far.
    pub(crate) status: Status,
    /// What it used so far.
    pub(crate) spent: Vec<HourlyUsage>,
}

/// Returns the agent of a run, and the run's status and usage; none if there is no such run.
pub(crate) fn before(connection: &Connection, run: RunId) -> Result<Option<(AgentId, StoredRun)>> {
    let mut statement = connection.prepare_cached("SELECT agent, status, spent FROM runs WHERE id = ?1")?;
    let read = |row: &Row<'_>| Ok((word(row, 0)?, StoredRun { status: word(row, 1)?, spent: json(row, 2)? }));
    Ok(statement.query_row([run.to_string()], read).optional()?)
}

/// Writes a run: one that is stored with the status `before`, or a new one. A run never moves to another
/// agent.
pub(crate) fn write(connection: &Connection, run: &Run, before: Option<Status>) -> Result<()> {
    macro_rules! update {
        ($indexed:literal) => {
            concat!(
                "UPDATE runs SET ",
                $indexed,
                "waiting_on = ?4, stop_reason = ?5, error = ?6, kind_version = ?7, tasks = ?8, \
                 model_calls = ?9, input_tokens = ?10, output_tokens = ?11, cached_tokens = ?12, \
                 cache_written_tokens = ?13, reasoning_tokens = ?14, cost_nanos = ?15, started = ?16, \
                 ended = ?17, worked_ms = ?18, spent = ?19 WHERE id = ?1 AND agent = ?2"
            )
        };
    }
    let (id, agent) = (run.id.to_string(), run.agent.to_string());
    let (tasks, spent) = (serde_json::to_string(&run.tasks)?, serde_json::to_string(&run.spent)?);
    let values: [&dyn ToSql; 19] = [
        &id,
        &agent,
        &run.status.as_str(),
        &run.waiting_on.map(|what| what.as_str()),
        &run.stop_reason.map(|reason| reason.as_str()),
        &run.error,
        &run.kind_version,
        &tasks,
        &run.model_calls,
        &int(run.usage.input),
        &int(run.usage.output),
        &int(run.usage.cached),
        &int(run.usage.cache_written),
        &int(run.usage.reasoning),
        &int(run.cost.nanos()),
        &run.started.micros(),
        &run.ended.map(|time| time.micros()),
        &int(run.worked_ms),
        &spent,
    ];
    let insert = "INSERT INTO runs (id, agent, status, waiting_on, stop_reason, error, kind_version, tasks, \
         model_calls, input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, \
         cost_nanos, started, ended, worked_ms, spent, open, owner, switches) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";
    let (open, owner) = (!run.status.is_terminal(), run.owner.as_str());
    match before {
        // Most changes keep the status, and an update that names no indexed column leaves the indexes alone.
        Some(status) if status == run.status => {
            connection.prepare_cached(update!(""))?.execute(&values[..])?
        }
        Some(status) if status.is_terminal() != open => {
            connection.prepare_cached(update!("status = ?3, "))?.execute(&values[..])?
        }
        Some(_) => connection
            .prepare_cached(update!("status = ?3, open = ?20, "))?
            .execute(&[&values[..], &[&open]].concat()[..])?,
        None => {
            // A run stays with the switches with which it began.
            let some = Some(&run.switches).filter(|switches| !switches.is_empty());
            let switches = some.map(serde_json::to_string).transpose()?;
            let new: [&dyn ToSql; 3] = [&open, &owner, &switches];
            connection.prepare_cached(insert)?.execute(&[&values[..], &new].concat()[..])?
        }
    };
    Ok(())
}

/// Returns the steps of a run in the order in which they began, if the scope includes the run.
pub(crate) fn steps(connection: &Connection, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
    select_steps(scope, run).end("ORDER BY n").rows(connection, read_step)
}

/// Returns one step of a run, if the scope includes the run.
pub(crate) fn step(connection: &Connection, scope: &Scope, run: RunId, key: &str) -> Result<Option<Step>> {
    let found = select_steps(scope, run).and("key = ?").bind(key.to_owned()).rows(connection, read_step)?;
    Ok(found.into_iter().next())
}

fn select_steps(scope: &Scope, run: RunId) -> Select {
    Select::new(&format!("SELECT {STEP} FROM steps WHERE run = ?"))
        .bind(run.to_string())
        .of(scope, "runs", run)
}

pub(crate) fn read_step(row: &Row<'_>) -> rusqlite::Result<Step> {
    Ok(Step {
        run: word(row, 0)?,
        key: row.get_ref(1)?.as_str()?.into(),
        state: StepState::read(word(row, 2)?, row.get_ref(3)?.as_str()?)
            .map_err(|error| unreadable(3, error))?,
        intent: json_if_any(row, 8)?,
        attempt: row.get(4)?,
        used: json_if_any(row, 5)?,
        asked: None,
        started: time(row, 6)?,
        updated: time(row, 7)?,
    })
}

/// Writes a step, new or changed.
pub(crate) fn upsert_step(connection: &Connection, step: &Step) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO steps (run, key, state, value, attempt, used, started, updated, intent) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
         ON CONFLICT (run, key) DO UPDATE SET state = ?3, value = ?4, attempt = ?5, used = ?6, \
         started = ?7, updated = ?8, intent = ?9",
    )?;
    statement.execute(params![
        step.run.to_string(),
        step.key.to_string(),
        step.status().as_str(),
        step.state.value()?,
        step.attempt,
        step.used.as_ref().map(serde_json::to_string).transpose()?,
        step.started.micros(),
        step.updated.micros(),
        step.intent.as_ref().map(serde_json::to_string).transpose()?,
    ])?;
    Ok(())
}
